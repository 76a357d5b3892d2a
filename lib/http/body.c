#include "lib/http/body.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/shape.h"
#include "lib/base/suggest.h"
#include "lib/base/text.h"

static const struct http_type any = {.name = "any", .kind = HTTP_KIND_ANY};

static const struct http_member raw_members[] = {
	{.input = {.in = HTTP_IN_BODY, .name = HTTP_OTHERS, .type = &any}}};

const struct http_body http_body_raw = {
	.name = "raw", .members = raw_members, .n = 1};

static const struct http_member *find_member(const struct http_body *b,
					     const char *name)
{
	for (size_t i = 0; b && i < b->n; i++)
		if (strcmp(b->members[i].input.name, name) == 0)
			return &b->members[i];
	return NULL;
}

bool http_body_is_open(const struct http_body *b)
{
	return find_member(b, HTTP_OTHERS) != NULL;
}

#define BODY_LEAST 1024 /* of white space and empty objects */

size_t http_body_max(const struct http_body *b)
{
	size_t sum = BODY_LEAST;

	for (size_t i = 0; b && i < b->n; i++) {
		if (!http_input_is_bounded(&b->members[i].input))
			return SIZE_MAX;
		sum += http_input_bytes(&b->members[i].input);
	}
	return sum;
}

/* --- checks -------------------------------------------------------------- */

static int fail_unknown(const struct http_body *b, const char *name,
			struct err *e)
{
	struct suggestion near;
	const char *meant;

	suggest_begin(&near, name);
	for (size_t i = 0; b && i < b->n; i++)
		suggest_candidate(&near, b->members[i].input.name);
	meant = suggest_end(&near);
	if (meant)
		return err_set(e, ERR_INVALID,
			       "\"%s\" is not a member of this request; did "
			       "you mean \"%s\"?",
			       quoted(name).text, meant);
	return err_set(e, ERR_INVALID,
		       "\"%s\" is not a member of this request; /openapi.json "
		       "lists them",
		       quoted(name).text);
}

static int check_names(const struct http_body *b, const cJSON *json,
		       struct err *e)
{
	bool open = http_body_is_open(b);
	const cJSON *v;

	cJSON_ArrayForEach(v, json)
	{
		if (!open && !find_member(b, v->string))
			return fail_unknown(b, v->string, e);
		if (cJSON_GetObjectItemCaseSensitive(json, v->string) != v)
			return err_set(e, ERR_INVALID, "\"%s\" is given twice",
				       quoted(v->string).text);
	}
	return 0;
}

int http_body_check(const struct http_body *b, const cJSON *json, struct err *e)
{
	if (check_names(b, json, e))
		return -1;
	for (size_t i = 0; b && i < b->n; i++) {
		const struct http_input *in = &b->members[i].input;

		if (http_input_json(
			    in,
			    cJSON_GetObjectItemCaseSensitive(json, in->name),
			    e))
			return -1;
	}
	return 0;
}

/* --- the struct ---------------------------------------------------------- */

/* Integers beyond 2^53 keep their digits (lib/json/json.h). */
static int64_t integer_of(const cJSON *v)
{
	return v->valuestring && !strpbrk(v->valuestring, ".eE")
		       ? strtoll(v->valuestring, NULL, 10)
		       : (int64_t)v->valuedouble;
}

static const char *json_of(const cJSON *v, struct arena *a)
{
	struct buf b = BUF_MAX(SIZE_MAX / 2); /* the request is bounded */
	const char *text;

	json_add(&b, v);
	text = arena_textn(a, b.p, b.n);
	buf_fini(&b);
	return text;
}

static void set_default(const struct http_member *m, void *at)
{
	if (m->input.type->kind == HTTP_KIND_INTEGER)
		*(int64_t *)at = m->otherwise ? strtoll(m->otherwise, NULL, 10)
					      : OPT_NONE;
	else if (m->input.type->kind != HTTP_KIND_BOOLEAN)
		*(const char **)at = m->otherwise;
}

static void set_value(const struct http_member *m, const cJSON *v, void *at,
		      struct arena *a)
{
	switch (m->input.type->kind) {
	case HTTP_KIND_TEXT:
	case HTTP_KIND_WORD:
		*(const char **)at = arena_text(a, v->valuestring);
		break;
	case HTTP_KIND_INTEGER:
		*(int64_t *)at = integer_of(v);
		break;
	case HTTP_KIND_BOOLEAN:
		*(bool *)at = cJSON_IsTrue(v);
		break;
	case HTTP_KIND_OBJECT:
	case HTTP_KIND_ARRAY:
	case HTTP_KIND_LIST:
	case HTTP_KIND_FILES:
	case HTTP_KIND_ANY:
		*(const char **)at = json_of(v, a);
		break;
	}
}

void *http_body_struct(const struct http_body *b, const cJSON *json,
		       struct arena *a)
{
	char *out = arena_alloc(a, b->size);
	const cJSON *v;

	assert(b->size > 0);
	for (size_t i = 0; i < b->n; i++)
		set_default(&b->members[i], out + b->members[i].offset);
	cJSON_ArrayForEach(v, json)
	{
		const struct http_member *m = find_member(b, v->string);

		if (!cJSON_IsNull(v))
			set_value(m, v, out + m->offset, a);
	}
	return out;
}
