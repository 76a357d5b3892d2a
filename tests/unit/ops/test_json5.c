/* JSON as people write it by hand: ops/import/importers/json5.h. */
#include "ops/import/importers/json5.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void what_people_write_is_understood(void **state)
{
	static const struct {
		const char *text, *json;
	} cases[] = {
		{"{}", "{}"},
		{"// a\n{ /* b\n */ }// c", "{}"},
		{"{a: 1, $b_2: 2, 'c d': 3, \"e\": 4,}",
		 "{\"a\":1,\"$b_2\":2,\"c d\":3,\"e\":4}"},
		{"{a: [1, 2, /* last */ ], b: [],}", "{\"a\":[1,2],\"b\":[]}"},
		{"{true: true, null: null, false /**/ : false}",
		 "{\"true\":true,\"null\":null,\"false\":false}"},
		{"{a: +1, b: .5, c: 5., d: 0x1F, e: -0x10, f: -.5e+1}",
		 "{\"a\":1,\"b\":0.5,\"c\":5.0,\"d\":31,\"e\":-16,\"f\":-0.5e+"
		 "1}"},
		{"{a: 'it\\'s \"so\"', b: \"\\x41\\q\", c: 'one\\\ntwo'}",
		 "{\"a\":\"it's \\\"so\\\"\",\"b\":\"Aq\",\"c\":\"onetwo\"}"},
		{"{a: 'http://x/*y*/', b: '\t'}",
		 "{\"a\":\"http://x/*y*/\",\"b\":\"\\t\"}"},
		{"\xef\xbb\xbf{\xc2\xa0\xc3\xa9\xc2\xa0: 1}",
		 "{\"\xc3\xa9\":1}"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct buf b = BUF_MAX(4096);
		struct err e = {0};
		cJSON *v = json5_parse_object("x", cases[i].text,
					      strlen(cases[i].text), &e);

		if (!v)
			fail_msg("%s: %s", cases[i].text, e.text);
		json_add(&b, v);
		assert_string_equal(b.p, cases[i].json);
		cJSON_Delete(v);
		buf_fini(&b);
	}
}

static void what_is_wrong_is_told_with_its_line(void **state)
{
	static const struct {
		const char *text, *line;
	} cases[] = {
		{"// one\n/* two\n */ {a: }", "line 3"},
		{"{a: 1 b: 2}", "line 1"},
		{"{a: Infinity}", "line 1"},
		{"{a: 0x}", "line 1"},
		{"{a: 'open}", "line 1"},
		{"{a: 'two\nlines'}", "line 1"},
		{"{a: '\\0'}", "line 1"},
		{"{\n/* open }", "line 2"},
		{"{,}", "line 1"},
		{"{a: 1,,}", "line 1"},
		{"[1]", "object"},
		{"", "line 1"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct err e = {0};

		assert_null(json5_parse_object("x", cases[i].text,
					       strlen(cases[i].text), &e));
		if (!strstr(e.text, cases[i].line))
			fail_msg("%s: %s", cases[i].text, e.text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_people_write_is_understood),
		cmocka_unit_test(what_is_wrong_is_told_with_its_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
