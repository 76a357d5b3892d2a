#include "lib/http/metrics.h"
#include "lib/http/openapi.h"
#include "lib/json/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const struct metric table[] = {
	{"a_total", "Counts.", NULL, METRIC_COUNTER},
	{"b", "By kind.", "kind", METRIC_GAUGE},
	{"c_seconds", "Times.", NULL, METRIC_HISTOGRAM},
};

static bool printed(const struct metrics *m, const char *text)
{
	struct buf b = BUF_MAX(1 << 20);
	bool found;

	metrics_write(m, &b);
	found = strstr(b.p, text) != NULL;
	buf_fini(&b);
	return found;
}

static void metrics_print_as_prometheus_reads_them(void **state)
{
	struct metrics *m = metrics_new(table, 3);

	(void)state;
	assert_true(printed(m, "# TYPE a_total counter\na_total 0\n"));
	metrics_add(m, 0, NULL, 2);
	metrics_set(m, 1, "x\"y", 1.5);
	metrics_observe(m, 2, NULL, 0.02);
	metrics_observe(m, 2, NULL, 99);
	assert_true(printed(m, "# HELP a_total Counts.\n"));
	assert_true(printed(m, "a_total 2\n"));
	assert_true(printed(m, "b{kind=\"x\\\"y\"} 1.5\n"));
	assert_true(printed(m, "c_seconds_bucket{le=\"0.01\"} 0\n"));
	assert_true(printed(m, "c_seconds_bucket{le=\"0.025\"} 1\n"));
	assert_true(printed(m, "c_seconds_bucket{le=\"+Inf\"} 2\n"));
	assert_true(printed(m, "c_seconds_count 2\n"));
	metrics_free(m);
}

static void labels_cannot_grow_the_registry(void **state)
{
	struct metrics *m = metrics_new(table, 3);
	char label[16];

	(void)state;
	for (int i = 0; i < 1000; i++) {
		snprintf(label, sizeof label, "%d", i);
		metrics_add(m, 1, label, 1);
	}
	assert_int_equal(METRIC_SERIES, 128);
	assert_true(printed(m, "b{kind=\"126\"} 1\n"));
	assert_false(printed(m, "b{kind=\"127\"}"));
	assert_true(printed(m, "b{kind=\"other\"} 873\n"));
	metrics_free(m);
}

#define THING(F, S) F(S, i64, n) F(S, text, name) F(S, json, meta)
SHAPE_DECLARE(thing, THING);
SHAPE_DEFINE(thing, THING);

static void handle(void *app, const struct http_request *r,
		   struct http_reply *reply)
{
	(void)app, (void)r, (void)reply;
}

static const struct http_type
	limit = {"limit", HTTP_KIND_INTEGER, HTTP_FORM_ANY, 1, 100, NULL},
	name = {"name", HTTP_KIND_TEXT, HTTP_FORM_NAME, 1, 64, NULL},
	note = {"note", HTTP_KIND_TEXT, HTTP_FORM_ANY, 0, 8, NULL},
	colour = {"colour", HTTP_KIND_WORD, HTTP_FORM_ANY, 0, 0, "red|blue"},
	colours = {"colours", HTTP_KIND_ARRAY, HTTP_FORM_ANY, 1, 2, "red|blue"},
	flag = {"flag", HTTP_KIND_BOOLEAN, HTTP_FORM_ANY, 0, 1, NULL},
	meta = {"meta", HTTP_KIND_OBJECT, HTTP_FORM_ANY, 0, 16, NULL};

enum { LIST, SHOW, MAKE };

static const struct http_input inputs[] = {
	{LIST, HTTP_IN_QUERY, "limit", &limit, HTTP_OPTIONAL},
	{LIST, HTTP_IN_QUERY, "colour", &colour, HTTP_REQUIRED},
	{LIST, HTTP_IN_QUERY, "all", &flag, HTTP_OPTIONAL},
	{SHOW, HTTP_IN_PATH, "id", &name, HTTP_REQUIRED},
};

struct thing_new {
	int64_t n, size;
	const char *name, *note, *colours, *meta;
	bool flag;
};

#define MEMBER(name_, type_, need_, otherwise_)                              \
	{                                                                    \
		{0, HTTP_IN_BODY, #name_, &type_, HTTP_##need_}, otherwise_, \
			offsetof(struct thing_new, name_)                    \
	}
static const struct http_member members[] = {
	MEMBER(n, limit, REQUIRED, NULL),
	MEMBER(size, limit, OPTIONAL, "7"),
	MEMBER(name, name, NOTNULL, "anna"),
	MEMBER(note, note, OPTIONAL, NULL),
	MEMBER(colours, colours, OPTIONAL, NULL),
	MEMBER(flag, flag, OPTIONAL, NULL),
	MEMBER(meta, meta, OPTIONAL, NULL),
};
static const struct http_body thing_new = {"thing_new",
					   sizeof(struct thing_new), members,
					   sizeof members / sizeof members[0]};

static const struct http_route rows[] = {
	{"thing_list", "GET", "/v1/things", HTTP_SCOPE_READ, handle, "All",
	 NULL, HTTP_RESPONSE_LIST, &thing_shape},
	{"thing_show", "GET", "/v1/things/{id}", HTTP_SCOPE_READ, handle, "One",
	 NULL, HTTP_RESPONSE_OBJECT, &thing_shape},
	{"thing_make", "POST", "/v1/things", HTTP_SCOPE_RUN, handle, "New",
	 &thing_new, HTTP_RESPONSE_OBJECT, &thing_shape},
	{"thing_live", "GET", "/v1/live", HTTP_SCOPE_PUBLIC, handle, "Live",
	 NULL, HTTP_RESPONSE_STREAM, NULL},
};

static const struct http_routes routes = {rows, 4, inputs,
					  sizeof inputs / sizeof inputs[0]};

/* Checks a query; the text of the error, or "". */
static const char *query_error(struct http_pair *query, size_t n)
{
	static struct err e;
	struct http_match m = {.route = &rows[LIST]};

	e = (struct err){0};
	http_route_check_query(&routes, &m, query, n, &e);
	assert_true(!e.code || e.code == ERR_USAGE);
	return e.text;
}

static void a_query_is_checked_before_its_handler(void **state)
{
	static struct {
		struct http_pair pairs[2];
		size_t n;
		const char *says;
	} cases[] = {
		{{{"colour", "red"}, {"limit", "100"}}, 2, ""},
		{{{"colour", "red"}, {"all", ""}}, 2, ""},
		{{{"limit", "1"}}, 1, "colour is required"},
		{{{"colour", "green"}},
		 1,
		 "colour must be red or blue, not green"},
		{{{"colour", ""}}, 1, "colour must be red or blue, not "},
		{{{"colour", "red"}, {"limit", "0"}},
		 2,
		 "limit: 0 is not between 1 and 100"},
		{{{"colour", "red"}, {"limit", "x"}},
		 2,
		 "limit: 'x' is not a whole number"},
		{{{"colour", "red"}, {"all", "maybe"}},
		 2,
		 "all must be true or false"},
		{{{"colour", "red"}, {"size", "1"}},
		 2,
		 "size is not a parameter of this address; /openapi.json "
		 "lists them"},
		{{{"color", "red"}},
		 1,
		 "color is not a parameter of this address; did you mean "
		 "colour?"},
		{{{"colour", "red"}, {"colour", "red"}},
		 2,
		 "colour is given twice"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		assert_string_equal(query_error(cases[i].pairs, cases[i].n),
				    cases[i].says);
}

static void a_body_is_checked_before_its_handler(void **state)
{
	static const struct {
		const char *body, *says;
		enum err_code code;
	} cases[] = {
		{"{\"n\":1}", "", ERR_OK},
		{"{\"n\":100,\"name\":\"a\",\"note\":null,\"meta\":{},"
		 "\"colours\":[\"red\"],\"flag\":false}",
		 "", ERR_OK},
		{"{}", "\"n\" is required", ERR_INVALID},
		{"{\"n\":null}", "\"n\" is required", ERR_INVALID},
		{"{\"n\":\"1\"}", "\"n\" must be a whole number", ERR_INVALID},
		{"{\"n\":1.5}", "\"n\" must be a whole number", ERR_INVALID},
		{"{\"n\":1e300}", "\"n\" must be a whole number", ERR_INVALID},
		{"{\"n\":101}", "\"n\" must be between 1 and 100, and is 101",
		 ERR_INVALID},
		{"{\"n\":1,\"name\":null}", "\"name\" must be a string",
		 ERR_INVALID},
		{"{\"n\":1,\"name\":\"\"}", "\"name\" must not be empty",
		 ERR_INVALID},
		{"{\"n\":1,\"note\":\"123456789\"}",
		 "\"note\" must not exceed 8 bytes, and has 9", ERR_TOOBIG},
		{"{\"n\":1,\"colours\":[\"green\"]}",
		 "\"colours\" must be a list of red or blue, not green",
		 ERR_INVALID},
		{"{\"n\":1,\"colours\":[1]}",
		 "\"colours\" must be an array of strings", ERR_INVALID},
		{"{\"n\":1,\"colours\":[]}", "\"colours\" must not be empty",
		 ERR_INVALID},
		{"{\"n\":1,\"flag\":1}", "\"flag\" must be true or false",
		 ERR_INVALID},
		{"{\"n\":1,\"meta\":[]}", "\"meta\" must be an object",
		 ERR_INVALID},
		{"{\"n\":1,\"meta\":{\"a\":\"1234567890\"}}",
		 "\"meta\" must not exceed 16 bytes, and has 17", ERR_TOOBIG},
		{"{\"n\":1,\"other\":1}",
		 "\"other\" is not a member of this request; /openapi.json "
		 "lists "
		 "them",
		 ERR_INVALID},
		{"{\"n\":1,\"nota\":1}",
		 "\"nota\" is not a member of this request; did you mean "
		 "\"note\"?",
		 ERR_INVALID},
		{"{\"n\":1,\"n\":2}", "\"n\" is given twice", ERR_INVALID},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		const char *text = cases[i].body;
		struct err e = {0};
		cJSON *body = json_parse("body", text, strlen(text), &e);

		assert_non_null(body);
		http_body_check(&thing_new, body, &e);
		assert_string_equal(e.text, cases[i].says);
		assert_int_equal(e.code, cases[i].code);
		cJSON_Delete(body);
	}
	assert_true(http_body_max(NULL) <= 4096);
	assert_true(http_body_max(&thing_new) <= 8192);
	assert_true(http_body_max(&http_body_raw) == SIZE_MAX);
}

static void a_body_becomes_a_struct_with_defaults(void **state)
{
	static const char text[] = "{\"n\":5,\"note\":null,\"flag\":true,"
				   "\"meta\":{\"a\": [1]}}";
	struct arena a = {0};
	struct err e = {0};
	cJSON *body = json_parse("body", text, strlen(text), &e);
	const struct thing_new *t = http_body_struct(&thing_new, body, &a);

	(void)state;
	assert_int_equal(t->n, 5);
	assert_int_equal(t->size, 7);
	assert_string_equal(t->name, "anna");
	assert_null(t->note);
	assert_null(t->colours);
	assert_true(t->flag);
	assert_string_equal(t->meta, "{\"a\":[1]}");
	cJSON_Delete(body);
	arena_fini(&a);
}

static cJSON *at(cJSON *v, const char *const *path)
{
	for (; v && *path; path++)
		v = cJSON_GetObjectItemCaseSensitive(v, *path);
	return v;
}

#define AT(doc, ...) at(doc, (const char *const[]){__VA_ARGS__, NULL})

static void the_document_tells_what_the_table_says(void **state)
{
	struct buf b = BUF_MAX(1 << 20);
	struct err e = {0};
	cJSON *doc, *list;

	(void)state;
	openapi_write(&b, &routes, "things", "1.2");
	doc = json_parse_object("openapi", b.p, b.n, &e);
	if (!doc)
		fail_msg("%s", e.text);
	assert_string_equal(AT(doc, "openapi")->valuestring, "3.1.0");
	assert_int_equal(cJSON_GetArraySize(AT(doc, "paths")), 3);
	assert_non_null(AT(doc, "paths", "/v1/things", "post", "requestBody"));
	list = AT(doc, "paths", "/v1/things", "get", "parameters");
	assert_int_equal(cJSON_GetArraySize(list), 3);
	assert_int_equal(cJSON_GetArraySize(AT(cJSON_GetArrayItem(list, 1),
					       "schema", "enum")),
			 2);
	list = AT(doc, "paths", "/v1/things", "post", "requestBody", "content",
		  "application/json", "schema");
	assert_int_equal(cJSON_GetArraySize(AT(list, "properties")), 7);
	assert_int_equal(AT(list, "properties", "size", "default")->valueint,
			 7);
	assert_string_equal(
		AT(list, "properties", "name", "default")->valuestring, "anna");
	assert_string_equal(
		cJSON_GetArrayItem(AT(list, "required"), 0)->valuestring, "n");
	list = AT(doc, "paths", "/v1/things/{id}", "get", "parameters");
	assert_true(cJSON_IsTrue(AT(cJSON_GetArrayItem(list, 0), "required")));
	assert_int_equal(cJSON_GetArraySize(AT(doc, "paths", "/v1/live", "get",
					       "security")),
			 0);
	assert_non_null(AT(doc, "paths", "/v1/live", "get", "responses", "200",
			   "content", "text/event-stream"));
	assert_int_equal(cJSON_GetArraySize(AT(doc, "components", "schemas",
					       "thing", "properties")),
			 3);
	assert_int_equal(cJSON_GetArraySize(AT(doc, "components", "schemas")),
			 2);
	cJSON_Delete(doc);
	buf_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(metrics_print_as_prometheus_reads_them),
		cmocka_unit_test(labels_cannot_grow_the_registry),
		cmocka_unit_test(a_query_is_checked_before_its_handler),
		cmocka_unit_test(a_body_is_checked_before_its_handler),
		cmocka_unit_test(a_body_becomes_a_struct_with_defaults),
		cmocka_unit_test(the_document_tells_what_the_table_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
