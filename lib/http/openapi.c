#include "lib/http/openapi.h"

#include <ctype.h>
#include <string.h>

#include "lib/base/text.h"
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

static const char security_schemes[] =
	"{\"token\":{\"type\":\"http\",\"scheme\":\"bearer\"}}";

static const char problem_response[] =
	"{\"problem\":{\"description\":\"what went wrong\",\"content\":{"
	"\"application/problem+json\":{\"schema\":{\"$ref\":"
	"\"#/components/schemas/problem\"}}}}}";

static const char problem_schema[] =
	"{\"type\":\"object\",\"properties\":{"
	"\"type\":{\"type\":\"string\"},\"title\":{\"type\":\"string\"},"
	"\"status\":{\"type\":\"integer\"},\"detail\":{\"type\":\"string\"},"
	"\"code\":{\"type\":\"string\"},\"retry\":{\"type\":\"boolean\"}}}";

static void put_ref(struct buf *out, const char *name, const struct shape *s)
{
	char place[160];

	json_put_object(out, name);
	if (s) {
		text_printf(place, sizeof place, "#/components/schemas/%s",
			    s->name);
		json_put_text(out, "$ref", place);
	} else {
		json_put_text(out, "type", "object");
	}
	json_end_object(out);
}

static const char *place_word(enum http_place place)
{
	return place == HTTP_IN_PATH ? "path" : "query";
}

static void add_parameter(struct buf *out, const struct http_input *in)
{
	json_begin_object(out);
	json_put_text(out, "name", in->name);
	json_put_text(out, "in", place_word(in->in));
	json_put_bool(out, "required",
		      in->need == HTTP_REQUIRED || in->in == HTTP_IN_PATH);
	json_key(out, "schema");
	http_input_schema(out, in, NULL);
	json_end_object(out);
}

static void put_parameters(struct buf *out, const struct http_routes *t,
			   const struct http_route *r)
{
	json_put_array(out, "parameters");
	for (size_t i = 0; i < t->ninputs; i++)
		if (&t->rows[t->inputs[i].route] == r)
			add_parameter(out, &t->inputs[i]);
	if (r->response == HTTP_RESPONSE_STREAM)
		json_add_raw(out,
			     "{\"name\":\"Last-Event-ID\",\"in\":\"header\","
			     "\"required\":false,\"schema\":"
			     "{\"type\":\"string\"}}");
	json_end_array(out);
}

static void put_required(struct buf *out, const struct http_body *body)
{
	json_put_array(out, "required");
	for (size_t i = 0; i < body->n; i++)
		if (body->members[i].input.need == HTTP_REQUIRED)
			json_add_text(out, body->members[i].input.name);
	json_end_array(out);
}

static void put_properties(struct buf *out, const struct http_body *body)
{
	json_put_object(out, "properties");
	for (size_t i = 0; i < body->n; i++) {
		const struct http_member *m = &body->members[i];

		if (strcmp(m->input.name, HTTP_OTHERS) == 0)
			continue;
		json_key(out, m->input.name);
		http_input_schema(out, &m->input, m->otherwise);
	}
	json_end_object(out);
}

static void put_request_body(struct buf *out, const struct http_body *body)
{
	if (!body)
		return;
	json_put_object(out, "requestBody");
	json_put_object(out, "content");
	json_put_object(out, "application/json");
	json_put_object(out, "schema");
	json_put_text(out, "type", "object");
	put_properties(out, body);
	put_required(out, body);
	json_put_bool(out, "additionalProperties", http_body_is_open(body));
	for (int i = 0; i < 4; i++)
		json_end_object(out);
}

static void put_list_schema(struct buf *out, const struct shape *s)
{
	json_put_object(out, "schema");
	json_put_text(out, "type", "object");
	json_put_object(out, "properties");
	json_put_object(out, "items");
	json_put_text(out, "type", "array");
	put_ref(out, "items", s);
	json_end_object(out);
	json_put_raw(out, "next",
		     "{\"type\":[\"string\",\"integer\",\"null\"],"
		     "\"description\":\"give it back to read on\"}");
	json_end_object(out);
	json_end_object(out);
}

static void put_answer(struct buf *out, const struct http_route *r)
{
	static const char *const types[] = {
		[HTTP_RESPONSE_OBJECT] = "application/json",
		[HTTP_RESPONSE_LIST] = "application/json",
		[HTTP_RESPONSE_STREAM] = "text/event-stream",
		[HTTP_RESPONSE_TEXT] = "text/plain",
	};

	json_put_object(out, "content");
	json_put_object(out, types[r->response]);
	if (r->response == HTTP_RESPONSE_OBJECT)
		put_ref(out, "schema", r->shape);
	else if (r->response == HTTP_RESPONSE_LIST)
		put_list_schema(out, r->shape);
	else
		json_put_raw(out, "schema", "{\"type\":\"string\"}");
	json_end_object(out);
	json_end_object(out);
}

static void put_security(struct buf *out, enum http_scope scope)
{
	json_put_array(out, "security");
	if (scope != HTTP_SCOPE_PUBLIC) {
		json_begin_object(out);
		json_put_array(out, "token");
		json_add_text(out, http_scope_name(scope));
		json_end_array(out);
		json_end_object(out);
	}
	json_end_array(out);
}

static void put_responses(struct buf *out, const struct http_route *r)
{
	bool empty = r->response == HTTP_RESPONSE_NOTHING;

	json_put_object(out, "responses");
	json_put_object(out, empty ? "204" : "200");
	json_put_text(out, "description", "done");
	if (!empty)
		put_answer(out, r);
	json_end_object(out);
	json_put_raw(out, "default",
		     "{\"$ref\":\"#/components/responses/problem\"}");
	json_end_object(out);
}

static void put_operation(struct buf *out, const struct http_routes *t,
			  const struct http_route *r)
{
	char method[16] = "";

	for (size_t i = 0; r->method[i] && i < sizeof method - 1; i++)
		method[i] = (char)tolower((unsigned char)r->method[i]);
	json_put_object(out, method);
	json_put_text(out, "operationId", r->name);
	json_put_text(out, "summary", r->summary);
	put_security(out, r->scope);
	put_parameters(out, t, r);
	put_request_body(out, r->request);
	put_responses(out, r);
	json_end_object(out);
}

/* Groups the methods of a path, wherever they are in the table. */
static void put_paths(struct buf *out, const struct http_routes *t)
{
	json_put_object(out, "paths");
	for (size_t i = 0; i < t->n; i++) {
		bool seen = false;

		for (size_t k = 0; k < i; k++)
			seen |= strcmp(t->rows[k].path, t->rows[i].path) == 0;
		if (seen)
			continue;
		json_put_object(out, t->rows[i].path);
		for (size_t k = i; k < t->n; k++)
			if (!strcmp(t->rows[k].path, t->rows[i].path))
				put_operation(out, t, &t->rows[k]);
		json_end_object(out);
	}
	json_end_object(out);
}

static void put_schema(struct buf *out, const struct shape *s)
{
	json_put_object(out, s->name);
	json_put_text(out, "type", "object");
	json_put_object(out, "properties");
	for (size_t i = 0; i < s->nfields; i++)
		json_put_raw(out, s->fields[i].name,
			     field_schema[s->fields[i].type]);
	json_end_object(out);
	json_end_object(out);
}

static bool named_before(const struct http_routes *t, size_t at,
			 const struct shape *s)
{
	for (size_t i = 0; i < at; i++)
		if (t->rows[i].shape == s)
			return true;
	return false;
}

static void put_schemas(struct buf *out, const struct http_routes *t)
{
	json_put_object(out, "schemas");
	json_put_raw(out, "problem", problem_schema);
	for (size_t i = 0; i < t->n; i++) {
		const struct shape *response = t->rows[i].shape;

		if (response && !named_before(t, i, response))
			put_schema(out, response);
	}
	json_end_object(out);
}

void openapi_write(struct buf *out, const struct http_routes *routes,
		   const char *title, const char *version)
{
	json_begin_object(out);
	json_put_text(out, "openapi", "3.1.0");
	json_put_object(out, "info");
	json_put_text(out, "title", title);
	json_put_text(out, "version", version);
	json_end_object(out);
	put_paths(out, routes);
	json_put_object(out, "components");
	json_put_raw(out, "securitySchemes", security_schemes);
	json_put_raw(out, "responses", problem_response);
	put_schemas(out, routes);
	json_end_object(out);
	json_end_object(out);
	buf_addc(out, '\n');
}
