#include "lib/http/openapi.h"

#include <ctype.h>
#include <string.h>

#include "lib/json/json.h"

/* One schema per field type, as json_add_field writes it. */
static const char *const field_schema[] = {
	[FIELD_i64] = "{\"type\":\"integer\"}",
	[FIELD_opt] = "{\"type\":[\"integer\",\"null\"]}",
	[FIELD_time] = "{\"type\":[\"integer\",\"null\"],"
		       "\"description\":\"milliseconds since 1970\"}",
	[FIELD_bool] = "{\"type\":\"boolean\"}",
	[FIELD_f64] = "{\"type\":\"number\"}",
	[FIELD_text] = "{\"type\":[\"string\",\"null\"]}",
	[FIELD_json] = "{}",
	[FIELD_blob] = "{\"type\":[\"integer\",\"null\"],"
		       "\"description\":\"length in bytes\"}",
};

static void add_string(struct buf *out, const char *text)
{
	json_add_string(out, text, strlen(text));
}

static void add_ref(struct buf *out, const struct shape *s)
{
	if (s)
		buf_addf(out, "{\"$ref\":\"#/components/schemas/%s\"}",
			 s->name);
	else
		buf_adds(out, "{\"type\":\"object\"}");
}

static const char *place_word(enum http_place place)
{
	return place == HTTP_IN_PATH ? "path" : "query";
}

static void add_parameter(struct buf *out, bool *any,
			  const struct http_input *in)
{
	buf_addf(out, "%s{\"name\":", *any ? "," : "");
	add_string(out, in->name);
	buf_addf(out, ",\"in\":\"%s\",\"required\":%s,\"schema\":",
		 place_word(in->in),
		 in->need == HTTP_REQUIRED || in->in == HTTP_IN_PATH ? "true"
								     : "false");
	http_input_schema(out, in, NULL);
	buf_addc(out, '}');
	*any = true;
}

static void add_parameters(struct buf *out, const struct http_routes *t,
			   const struct http_route *r)
{
	bool any = false;

	buf_adds(out, ",\"parameters\":[");
	for (size_t i = 0; i < t->ninputs; i++)
		if (&t->rows[t->inputs[i].route] == r)
			add_parameter(out, &any, &t->inputs[i]);
	if (r->gives == HTTP_GIVES_STREAM)
		buf_addf(out,
			 "%s{\"name\":\"Last-Event-ID\",\"in\":\"header\","
			 "\"required\":false,\"schema\":"
			 "{\"type\":\"string\"}}",
			 any ? "," : "");
	buf_addc(out, ']');
}

static void add_required(struct buf *out, const struct http_body *body)
{
	bool any = false;

	buf_adds(out, ",\"required\":[");
	for (size_t i = 0; i < body->n; i++) {
		if (body->members[i].input.need != HTTP_REQUIRED)
			continue;
		if (any)
			buf_addc(out, ',');
		add_string(out, body->members[i].input.name);
		any = true;
	}
	buf_addc(out, ']');
}

static void add_request_body(struct buf *out, const struct http_body *body)
{
	bool any = false;

	if (!body)
		return;
	buf_adds(out, ",\"requestBody\":{\"content\":{\"application/json\":"
		      "{\"schema\":{\"type\":\"object\",\"properties\":{");
	for (size_t i = 0; i < body->n; i++) {
		const struct http_member *m = &body->members[i];

		if (strcmp(m->input.name, HTTP_OTHERS) == 0)
			continue;
		if (any)
			buf_addc(out, ',');
		add_string(out, m->input.name);
		buf_addc(out, ':');
		http_input_schema(out, &m->input, m->otherwise);
		any = true;
	}
	buf_addc(out, '}');
	add_required(out, body);
	buf_addf(out, ",\"additionalProperties\":%s}}}}",
		 http_body_is_open(body) ? "true" : "false");
}

static void add_response(struct buf *out, const struct http_route *r)
{
	switch (r->gives) {
	case HTTP_GIVES_OBJECT:
		buf_adds(out, "\"application/json\":{\"schema\":");
		add_ref(out, r->shape);
		buf_addc(out, '}');
		break;
	case HTTP_GIVES_LIST:
		buf_adds(out, "\"application/json\":{\"schema\":{\"type\":"
			      "\"object\",\"properties\":{\"items\":{\"type\":"
			      "\"array\",\"items\":");
		add_ref(out, r->shape);
		buf_adds(out, "},\"next\":{\"type\":[\"string\",\"integer\","
			      "\"null\"],\"description\":\"give it back to "
			      "read on\"}}}}");
		break;
	case HTTP_GIVES_STREAM:
		buf_adds(out, "\"text/event-stream\":{\"schema\":"
			      "{\"type\":\"string\"}}");
		break;
	case HTTP_GIVES_TEXT:
		buf_adds(out, "\"text/plain\":{\"schema\":"
			      "{\"type\":\"string\"}}");
		break;
	case HTTP_GIVES_NOTHING:
		break;
	}
}

static void add_operation(struct buf *out, const struct http_routes *t,
			  const struct http_route *r)
{
	buf_addc(out, '"');
	for (const char *m = r->method; *m; m++)
		buf_addc(out, (char)tolower((unsigned char)*m));
	buf_adds(out, "\":{\"operationId\":");
	add_string(out, r->name);
	buf_adds(out, ",\"summary\":");
	add_string(out, r->summary);
	if (r->scope == HTTP_SCOPE_PUBLIC)
		buf_adds(out, ",\"security\":[]");
	else
		buf_addf(out, ",\"security\":[{\"token\":[\"%s\"]}]",
			 http_scope_word(r->scope));
	add_parameters(out, t, r);
	add_request_body(out, r->takes);
	buf_addf(out, ",\"responses\":{\"%s\":{\"description\":\"done\"",
		 r->gives == HTTP_GIVES_NOTHING ? "204" : "200");
	if (r->gives != HTTP_GIVES_NOTHING) {
		buf_adds(out, ",\"content\":{");
		add_response(out, r);
		buf_addc(out, '}');
	}
	buf_adds(out, "},\"default\":{\"$ref\":"
		      "\"#/components/responses/problem\"}}}");
}

/* Groups the methods of a path, wherever they are in the table. */
static void add_paths(struct buf *out, const struct http_routes *t)
{
	bool any_path = false;

	for (size_t i = 0; i < t->n; i++) {
		bool seen = false, any = false;

		for (size_t k = 0; k < i; k++)
			seen |= strcmp(t->rows[k].path, t->rows[i].path) == 0;
		if (seen)
			continue;
		buf_addc(out, any_path ? ',' : ' ');
		any_path = true;
		add_string(out, t->rows[i].path);
		buf_adds(out, ":{");
		for (size_t k = i; k < t->n; k++) {
			if (strcmp(t->rows[k].path, t->rows[i].path) != 0)
				continue;
			if (any)
				buf_addc(out, ',');
			any = true;
			add_operation(out, t, &t->rows[k]);
		}
		buf_addc(out, '}');
	}
}

static void add_schema(struct buf *out, const struct shape *s)
{
	buf_addc(out, ',');
	add_string(out, s->name);
	buf_adds(out, ":{\"type\":\"object\",\"properties\":{");
	for (size_t i = 0; i < s->nfields; i++) {
		if (i)
			buf_addc(out, ',');
		add_string(out, s->fields[i].name);
		buf_addf(out, ":%s", field_schema[s->fields[i].type]);
	}
	buf_adds(out, "}}");
}

static bool named_before(const struct http_routes *t, size_t at,
			 const struct shape *s)
{
	for (size_t i = 0; i < at; i++)
		if (t->rows[i].shape == s)
			return true;
	return false;
}

static void add_schemas(struct buf *out, const struct http_routes *t)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct shape *gives = t->rows[i].shape;

		if (gives && !named_before(t, i, gives))
			add_schema(out, gives);
	}
}

static const char problem[] =
	"\"problem\":{\"type\":\"object\",\"properties\":{"
	"\"type\":{\"type\":\"string\"},\"title\":{\"type\":\"string\"},"
	"\"status\":{\"type\":\"integer\"},\"detail\":{\"type\":\"string\"},"
	"\"code\":{\"type\":\"string\"},\"retry\":{\"type\":\"boolean\"}}}";

void openapi_write(struct buf *out, const struct http_routes *routes,
		   const char *title, const char *version)
{
	buf_adds(out, "{\"openapi\":\"3.1.0\",\"info\":{\"title\":");
	add_string(out, title);
	buf_adds(out, ",\"version\":");
	add_string(out, version);
	buf_adds(out, "},\"paths\":{");
	add_paths(out, routes);
	buf_adds(out, "},\"components\":{\"securitySchemes\":{\"token\":"
		      "{\"type\":\"http\",\"scheme\":\"bearer\"}},"
		      "\"responses\":{\"problem\":{\"description\":"
		      "\"what went wrong\",\"content\":{"
		      "\"application/problem+json\":{\"schema\":{\"$ref\":"
		      "\"#/components/schemas/problem\"}}}}},\"schemas\":{");
	buf_adds(out, problem);
	add_schemas(out, routes);
	buf_adds(out, "}}}\n");
}
