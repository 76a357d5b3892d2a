/* The route table: its rows fit together, and the body of every route rejects
 * what its members do not allow. New routes are covered without a change. */
#include "supervisor/api/routes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct http_input *find_input(size_t route, enum http_place in,
					   const char *name, size_t n)
{
	for (size_t i = 0; i < api_routes.ninputs; i++) {
		const struct http_input *row = &api_routes.inputs[i];

		if (row->route == route && row->in == in &&
		    strlen(row->name) == n && !memcmp(row->name, name, n))
			return row;
	}
	return NULL;
}

static void every_parameter_of_a_path_is_declared(void **state)
{
	(void)state;
	for (size_t i = 0; i < api_routes.n; i++) {
		const char *p = api_routes.rows[i].path;

		for (; (p = strchr(p, '{')); p++)
			if (!find_input(i, HTTP_IN_PATH, p + 1,
					strcspn(p + 1, "}")))
				fail_msg("%s: %s", api_routes.rows[i].name, p);
	}
}

static void every_declared_parameter_is_used_once(void **state)
{
	char place[96];

	(void)state;
	for (size_t i = 0; i < api_routes.ninputs; i++) {
		const struct http_input *in = &api_routes.inputs[i];
		const struct http_route *r = &api_routes.rows[in->route];

		snprintf(place, sizeof place, "{%s}", in->name);
		if (in->in == HTTP_IN_PATH && !strstr(r->path, place))
			fail_msg("%s has no %s", r->path, place);
		if (find_input(in->route, in->in, in->name, strlen(in->name)) !=
		    in)
			fail_msg("%s: %s twice", r->name, in->name);
	}
}

/* --- bodies ------------------------------------------------------------ */

static bool is_declared(const struct http_member *m)
{
	return strcmp(m->input.name, HTTP_OTHERS) != 0;
}

/* The maximum, or an integer that a double cannot represent. */
static int64_t good_integer(const struct http_type *t)
{
	int64_t odd = (1LL << 53) + 1;

	return t->max < odd ? t->max : odd;
}

/* A value that the type allows. */
static void add_good(struct buf *b, const struct http_type *t)
{
	switch (t->kind) {
	case HTTP_KIND_TEXT:
		buf_adds(b, "\"x\"");
		break;
	case HTTP_KIND_WORD:
		buf_addf(b, "\"%.*s\"", (int)strcspn(t->words, "|"), t->words);
		break;
	case HTTP_KIND_INTEGER:
		buf_addf(b, "%lld", (long long)good_integer(t));
		break;
	case HTTP_KIND_BOOLEAN:
		buf_adds(b, "true");
		break;
	case HTTP_KIND_ARRAY:
	case HTTP_KIND_LIST:
	case HTTP_KIND_FILES:
		buf_adds(b, "[]");
		break;
	case HTTP_KIND_OBJECT:
	case HTTP_KIND_ANY:
		buf_adds(b, "{}");
		break;
	}
}

/* The required members with good values, except `other`, which has the value
 * given (NULL: it is left out). */
static void add_body(struct buf *b, const struct http_body *body,
		     const char *other, const char *value)
{
	buf_addc(b, '{');
	for (size_t i = 0; i < body->n; i++) {
		const struct http_input *in = &body->members[i].input;

		if (in->need != HTTP_REQUIRED || !strcmp(in->name, other))
			continue;
		buf_addf(b, "%s\"%s\":", b->p[b->n - 1] == '{' ? "" : ",",
			 in->name);
		add_good(b, in->type);
	}
	if (value)
		buf_addf(b, "%s\"%s\":%s", b->p[b->n - 1] == '{' ? "" : ",",
			 other, value);
	buf_addc(b, '}');
}

/* Checks the body; the text of the error, or "". */
static const char *error_of(const struct http_body *body, const char *other,
			    const char *value)
{
	static struct err e;
	struct buf b = BUF_MAX(256u << 20);
	cJSON *json;

	e = (struct err){0};
	add_body(&b, body, other, value);
	json = json_parse("body", b.p, b.n, &e);
	assert_non_null(json);
	http_body_check(body, json, &e);
	cJSON_Delete(json);
	buf_fini(&b);
	return e.text;
}

static void rejects(const struct http_body *body, const struct http_input *in,
		    const char *value)
{
	char name[64];

	snprintf(name, sizeof name, "\"%s\"", in->name);
	if (!strstr(error_of(body, in->name, value), name))
		fail_msg("%s accepts %s: %.60s", body->name, name,
			 value ? value : "missing");
}

static bool allows(enum http_kind kind, char value)
{
	static const char *const first[] = {
		[HTTP_KIND_TEXT] = "\"",    [HTTP_KIND_WORD] = "\"",
		[HTTP_KIND_INTEGER] = "1",  [HTTP_KIND_BOOLEAN] = "t",
		[HTTP_KIND_OBJECT] = "{",   [HTTP_KIND_ARRAY] = "[",
		[HTTP_KIND_LIST] = "[",     [HTTP_KIND_FILES] = "[",
		[HTTP_KIND_ANY] = "\"1t{[",
	};

	return strchr(first[kind], value) != NULL;
}

#define HUGE_MAX 300000 /* larger limits would take long to test */

static void add_repeated(struct buf *b, const char *text, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		buf_adds(b, text);
}

/* A value over the limit of its type. */
static void add_huge(struct buf *b, const struct http_type *t)
{
	switch (t->kind) {
	case HTTP_KIND_TEXT:
	case HTTP_KIND_OBJECT:
		buf_adds(b, t->kind == HTTP_KIND_TEXT ? "\"" : "{\"k\":\"");
		add_repeated(b, "x", t->max + 1);
		buf_adds(b, t->kind == HTTP_KIND_TEXT ? "\"" : "\"}");
		break;
	case HTTP_KIND_ARRAY:
	case HTTP_KIND_LIST:
		buf_adds(b, "[\"x\"");
		add_repeated(b, ",\"x\"", t->max);
		buf_addc(b, ']');
		break;
	case HTTP_KIND_WORD:
		buf_adds(b, "\"no such word\"");
		break;
	case HTTP_KIND_INTEGER:
		buf_adds(b, "1e300");
		break;
	case HTTP_KIND_BOOLEAN:
		buf_adds(b, "2");
		break;
	case HTTP_KIND_FILES:
		buf_adds(b, "[[]]");
		break;
	case HTTP_KIND_ANY:
		break;
	}
}

static void rejects_huge(const struct http_body *body,
			 const struct http_input *in)
{
	struct buf b = BUF_MAX(4u << 20);

	if (in->type->kind == HTTP_KIND_INTEGER || in->type->max <= HUGE_MAX)
		add_huge(&b, in->type);
	if (b.n)
		rejects(body, in, b.p);
	buf_fini(&b);
}

static void check_member(const struct http_body *body,
			 const struct http_input *in)
{
	static const char *const values[] = {"\"\\u0001\"", "1.5", "true", "{}",
					     "[1]"};
	static const char first[] = "\"1t{[";

	if (in->need == HTTP_REQUIRED)
		rejects(body, in, NULL);
	if (in->need != HTTP_OPTIONAL)
		rejects(body, in, "null");
	else
		assert_string_equal(error_of(body, in->name, "null"), "");
	for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
		if (!allows(in->type->kind, first[i]))
			rejects(body, in, values[i]);
	if (in->type->kind == HTTP_KIND_INTEGER)
		rejects(body, in, "1.5");
	rejects_huge(body, in);
}

static void every_body_rejects_what_its_members_do_not_allow(void **state)
{
	int checked = 0;

	(void)state;
	for (size_t i = 0; i < api_routes.n; i++) {
		const struct http_body *body = api_routes.rows[i].request;

		if (!body || body == &http_body_raw)
			continue;
		assert_string_equal(error_of(body, "", NULL), "");
		for (size_t k = 0; k < body->n; k++, checked++)
			if (is_declared(&body->members[k]))
				check_member(body, &body->members[k].input);
		if (!http_body_is_open(body))
			assert_non_null(
				strstr(error_of(body, "no such member", "1"),
				       "is not a member of this request"));
	}
	assert_true(checked > 100);
}

/* Whether the value at its place in the struct is the good one, or absent. */
static void check_value(const struct http_member *m, const char *at, bool given)
{
	const char *text;

	switch (m->input.type->kind) {
	case HTTP_KIND_INTEGER:
		assert_true(*(const int64_t *)at ==
			    (given          ? good_integer(m->input.type)
			     : m->otherwise ? strtoll(m->otherwise, NULL, 10)
					    : OPT_NONE));
		return;
	case HTTP_KIND_BOOLEAN:
		assert_int_equal(*(const bool *)at, given);
		return;
	case HTTP_KIND_TEXT:
	case HTTP_KIND_WORD:
	case HTTP_KIND_OBJECT:
	case HTTP_KIND_ARRAY:
	case HTTP_KIND_LIST:
	case HTTP_KIND_FILES:
	case HTTP_KIND_ANY:
		text = *(const char *const *)at;
		assert_int_equal(text != NULL, given || m->otherwise);
		if (!given && text)
			assert_string_equal(text, m->otherwise);
	}
}

static void every_struct_has_the_values_or_the_defaults(void **state)
{
	(void)state;
	for (size_t i = 0; i < api_routes.n; i++) {
		const struct http_body *body = api_routes.rows[i].request;
		struct buf b = BUF_MAX(8192);
		struct arena a = {0};
		struct err e = {0};
		const char *obj;
		cJSON *json;

		if (!body || !body->size)
			continue;
		add_body(&b, body, "", NULL);
		json = json_parse("body", b.p, b.n, &e);
		obj = http_body_struct(body, json, &a);
		for (size_t k = 0; k < body->n; k++) {
			const struct http_member *m = &body->members[k];

			assert_true(m->offset < body->size);
			assert_false(m->otherwise &&
				     m->input.need == HTTP_REQUIRED);
			check_value(m, obj + m->offset,
				    m->input.need == HTTP_REQUIRED);
		}
		cJSON_Delete(json);
		arena_fini(&a);
		buf_fini(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_parameter_of_a_path_is_declared),
		cmocka_unit_test(every_declared_parameter_is_used_once),
		cmocka_unit_test(
			every_body_rejects_what_its_members_do_not_allow),
		cmocka_unit_test(every_struct_has_the_values_or_the_defaults),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
