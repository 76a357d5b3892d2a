#include "base/json.h"
#include "http/metrics.h"
#include "http/openapi.h"

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
	assert_int_equal((int)metrics_get(m, 1, "62"), 1);
	assert_int_equal((int)metrics_get(m, 1, "63"), 0);
	assert_int_equal((int)metrics_get(m, 1, "other"),
			 1000 - METRIC_SERIES + 1);
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

static const struct http_route rows[] = {
	{"thing_list", "GET", "/v1/things", HTTP_SCOPE_READ, handle, "All",
	 "limit:integer after:string", NULL, HTTP_GIVES_LIST, &thing_shape, 0},
	{"thing_show", "GET", "/v1/things/{id}", HTTP_SCOPE_READ, handle, "One",
	 NULL, NULL, HTTP_GIVES_OBJECT, &thing_shape, 0},
	{"thing_make", "POST", "/v1/things", HTTP_SCOPE_RUN, handle, "New",
	 NULL, &thing_shape, HTTP_GIVES_OBJECT, &thing_shape, 0},
	{"thing_live", "GET", "/v1/live", HTTP_SCOPE_PUBLIC, handle, "Live",
	 NULL, NULL, HTTP_GIVES_STREAM, NULL, 0},
};

static cJSON *at(cJSON *v, const char *const *path)
{
	for (; v && *path; path++)
		v = cJSON_GetObjectItemCaseSensitive(v, *path);
	return v;
}

#define AT(doc, ...) at(doc, (const char *const[]){__VA_ARGS__, NULL})

static void the_document_tells_what_the_table_says(void **state)
{
	const struct http_routes routes = {rows, 4};
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
	assert_int_equal(cJSON_GetArraySize(list), 2);
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
		cmocka_unit_test(the_document_tells_what_the_table_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
