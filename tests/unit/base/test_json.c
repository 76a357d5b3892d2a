#include "lib/json/json.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void refused(const char *text, size_t n, const char *reason)
{
	struct err e = {0};

	assert_null(json_parse("in.json", text, n, &e));
	assert_int_equal(e.code, ERR_INVALID);
	if (!strstr(e.text, reason))
		fail_msg("'%s' is not in '%s'", reason, e.text);
}

#define REFUSED(text, reason) refused(text, sizeof(text) - 1, reason)

static void a_mistake_is_told_with_line_and_column(void **state)
{
	(void)state;
	REFUSED("", "in.json: line 1, column 1: empty");
	REFUSED("{\n  \"a\": 1,\n  \"b\": x\n}", "line 3, column 8");
	REFUSED("[1, 2", "line 1");
	REFUSED("\xef\xbb\xbf{}", "column 1: a byte order mark");
	REFUSED("\"a\\u12\"", "column 3: \\u needs four");
	REFUSED("{} {}", "column 4: text after the end");
	REFUSED("\"a\xff\"", "column 3: not valid UTF-8");
	REFUSED("\"a\0b\"", "column 3: a NUL byte");
	REFUSED("\"é\" x", "column 5: text after the end");
}

static void nesting_without_end_is_refused(void **state)
{
	static char deep[200000];
	struct err e;

	(void)state;
	memset(deep, '[', sizeof deep);
	assert_null(json_parse("deep", deep, sizeof deep, &e));
}

static void an_object_is_asked_for(void **state)
{
	struct err e;
	cJSON *v;

	(void)state;
	assert_null(json_parse_object("x", "[1]", 3, &e));
	assert_non_null(strstr(e.text, "expected a JSON object"));
	v = json_parse_object("x", " {\"a\":1} \n", 10, &e);
	assert_non_null(v);
	cJSON_Delete(v);
}

static void strings_are_escaped(void **state)
{
	struct buf b = BUF_MAX(1000);

	(void)state;
	json_add_string(&b, "a\"\\\n\t\x01\x1f/é", 10);
	assert_string_equal(b.p, "\"a\\\"\\\\\\n\\t\\u0001\\u001f/é\"");
	buf_clear(&b);
	json_add_string(&b, "a\0b\xff", 4);
	assert_string_equal(b.p, "\"a\xef\xbf\xbd"
				 "b\xef\xbf\xbd\"");
	buf_fini(&b);
}

#define THING(F, S)      \
	F(S, i64, n)     \
	F(S, opt, maybe) \
	F(S, bool, yes)  \
	F(S, f64, x)     \
	F(S, text, word) F(S, json, extra) F(S, blob, bytes) F(S, time, at)

SHAPE_DECLARE(thing, THING);
SHAPE_DEFINE(thing, THING);

static void a_shape_is_an_object(void **state)
{
	struct thing t = {-5,     OPT_NONE,      true,       0.5,
			  "a\"b", "{\"k\":[1]}", {"xyz", 3}, 1700000000000};
	struct buf b = BUF_MAX(1000);
	struct err e;
	cJSON *v;

	(void)state;
	json_add_shape(&b, &thing_shape, &t);
	assert_string_equal(b.p, "{\"n\":-5,\"maybe\":null,\"yes\":true,"
				 "\"x\":0.5,\"word\":\"a\\\"b\","
				 "\"extra\":{\"k\":[1]},\"bytes\":3,"
				 "\"at\":1700000000000}");
	v = json_parse("shape", b.p, b.n, &e);
	assert_non_null(v);
	cJSON_Delete(v);
	buf_clear(&b);
	t = (struct thing){.x = INFINITY, .at = OPT_NONE};
	json_add_shape(&b, &thing_shape, &t);
	assert_string_equal(b.p, "{\"n\":0,\"maybe\":0,\"yes\":false,"
				 "\"x\":null,\"word\":null,\"extra\":null,"
				 "\"bytes\":0,\"at\":null}");
	buf_fini(&b);
}

static void comes_back(const char *text)
{
	struct buf b = BUF_MAX(1000);
	struct err e = {0};
	cJSON *v = json_parse("numbers", text, strlen(text), &e), *copy;

	if (!v)
		fail_msg("%s", e.text);
	copy = cJSON_Duplicate(v, true);
	json_add(&b, copy);
	assert_string_equal(b.p, text);
	cJSON_Delete(v);
	cJSON_Delete(copy);
	buf_fini(&b);
}

static void numbers_come_back_as_they_were_written(void **state)
{
	static const char two[] = "{\"n\":9007199254740993,\"d\":1.5e3}";
	struct err e;
	cJSON *v;

	(void)state;
	comes_back("9007199254740993");
	comes_back("{\"a\":[18446744073709551615,-9223372036854775808,1],"
		   "\"3\":{\"b\\\"4\":{\"c\":[[],{},5]}},\"d\":-0}");
	comes_back("[1.0,1e400,0.1,1E5,123456789012345,1234567890123456,-7]");
	v = json_parse("x", two, sizeof two - 1, &e);
	assert_non_null(v);
	assert_true(json_i64(v, "n", 0) == INT64_C(9007199254740993));
	assert_true(json_i64(v, "d", 0) == 1500);
	cJSON_Delete(v);
}

static void a_value_made_here_is_written_short(void **state)
{
	struct buf b = BUF_MAX(1000);
	cJSON *v = cJSON_CreateArray();

	(void)state;
	cJSON_AddItemToArray(v, cJSON_CreateNumber(0.1));
	cJSON_AddItemToArray(v, cJSON_CreateNumber(3));
	cJSON_AddItemToArray(v, cJSON_CreateNumber(1.0 / 3));
	cJSON_AddItemToArray(v, cJSON_CreateNumber((double)INFINITY));
	json_add(&b, v);
	assert_string_equal(b.p, "[0.1,3,0.33333333333333331,null]");
	cJSON_Delete(v);
	buf_fini(&b);
}

static void members_are_read_with_a_fallback(void **state)
{
	static const char text[] = "{\"s\":\"x\",\"n\":3,\"b\":true,"
				   "\"big\":1e300,\"S\":1}";
	struct err e;
	cJSON *v = json_parse("x", text, sizeof text - 1, &e);

	(void)state;
	assert_string_equal(json_text(v, "s", "-"), "x");
	assert_string_equal(json_text(v, "n", "-"), "-");
	assert_int_equal(json_i64(v, "n", 9), 3);
	assert_int_equal(json_i64(v, "s", 9), 9);
	assert_int_equal(json_i64(v, "big", 9), 9);
	assert_true(json_bool(v, "b", false));
	assert_true(json_bool(v, "none", true));
	cJSON_Delete(v);
}

static void invalid_characters_are_repaired(void **state)
{
	static const struct {
		const char *in;
		size_t n;
		const char *out;
		size_t replaced;
	} cases[] = {
		{"{\"a\":\"\\ud83d\\ude00\"}", 0, "{\"a\":\"\\ud83d\\ude00\"}",
		 0},
		{"{\"a\":\"\\ud83d\"}", 0, "{\"a\":\"\\ufffd\"}", 1},
		{"{\"a\":\"\\uDE00\\ud83d\"}", 0, "{\"a\":\"\\ufffd\\ufffd\"}",
		 2},
		{"[\"\\u0000\"]", 0, "[\"\\ufffd\"]", 1},
		{"[\"\\\\u0000\"]", 0, "[\"\\\\u0000\"]", 0},
		{"[\"\0\"]", 5, "[\"\xef\xbf\xbd\"]", 1},
		{"[\"\xff\xc3\xa4\"]", 0, "[\"\xef\xbf\xbd\xc3\xa4\"]", 1},
		{"[\"a\nb\"]", 0, "[\"a\\u000ab\"]", 0},
		{"[\"\t\xff\"]", 0, "[\"\\u0009\xef\xbf\xbd\"]", 1},
		{"[\"\\\"\xff\"]", 0, "[\"\\\"\xef\xbf\xbd\"]", 1},
		{"{\n}", 0, "{\n}", 0},
		{"\"\\ud8", 0, "\"\\ud8", 0},
		{"\"\\", 0, "\"\\", 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct buf b = BUF_MAX(256);
		size_t n = cases[i].n ? cases[i].n : strlen(cases[i].in);

		assert_int_equal(json_repair(cases[i].in, n, &b),
				 cases[i].replaced);
		assert_string_equal(b.p, cases[i].out);
		buf_fini(&b);
	}
}

static const char *const tokens[] = {
	"{",
	"}",
	"[",
	"]",
	",",
	":",
	"\"",
	"\"a\"",
	"1",
	"-",
	"0",
	"01",
	"1.",
	"1e5",
	"-0.5E-2",
	"true",
	"tru",
	"null",
	" ",
	"\n",
	"\t",
	"\\n",
	"\\x",
	"\\u00e9",
	"\\u0000",
	"\\ud83d",
	"\\ude00",
	"\xff",
	"\xc3\xa9",
	"\x01",
	"\\u12",
	"\\u\x10\x10\x10\x10",
	"\"\\ud83d\\ude00\"",
	"\\\\",
	"{\"a\":",
	"\"b\":1",
};

#define NTOKENS (sizeof tokens / sizeof *tokens)

/* json_ok and json_parse agree, on random strings of tokens too. */
static void validation_agrees_with_the_parser(void **state)
{
	uint32_t seed = 12345;
	int accepted = 0;

	(void)state;
	for (int i = 0; i < 300000; i++) {
		struct buf text = BUF_MAX(256);
		struct err e = {0};
		cJSON *v;

		seed = seed * 1664525 + 1013904223;
		for (uint32_t k = seed >> 29, s = seed; k < 8; k++) {
			s = s * 1664525 + 1013904223;
			buf_adds(&text, tokens[(s >> 8) % NTOKENS]);
		}
		v = json_parse("x", text.p, text.n, &e);
		if (json_ok(text.p, text.n) != (v != NULL))
			fail_msg("%s: the parser says %s", text.p,
				 v ? "valid" : e.text);
		accepted += v != NULL;
		cJSON_Delete(v);
		buf_fini(&text);
	}
	assert_true(accepted > 1000);
	assert_false(json_ok("1\0", 2));
}

static void depth(int n, bool ok)
{
	static char text[4000];
	struct err e;
	cJSON *v;

	memset(text, '[', (size_t)n);
	memset(text + n, ']', (size_t)n);
	assert_int_equal(json_ok(text, (size_t)n * 2), ok);
	v = json_parse("deep", text, (size_t)n * 2, &e);
	assert_int_equal(v != NULL, ok);
	cJSON_Delete(v);
}

static void validation_has_the_depth_of_the_parser(void **state)
{
	(void)state;
	depth(1, true);
	depth(CJSON_NESTING_LIMIT, true);
	depth(CJSON_NESTING_LIMIT + 1, false);
}

static void stored_text_is_embedded_as_one_value(void **state)
{
	static const char *const cases[][2] = {
		{"{\"a\": [1]}", "{\"a\": [1]}"},
		{"{\n\"a\":\r\n1}\n", "{ \"a\":  1}"},
		{"\"a\nb\"", "\"a\\u000ab\""},
		{"\"\xff\"", "\"\xef\xbf\xbd\""},
		{"\"\\u0000\"", "\"\\ufffd\""},
		{"{broken", "\"{broken\""},
		{"", "\"\""},
		{"NaN", "\"NaN\""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct buf b = BUF_MAX(256);

		json_add_stored(&b, cases[i][0]);
		assert_string_equal(b.p, cases[i][1]);
		buf_fini(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_mistake_is_told_with_line_and_column),
		cmocka_unit_test(nesting_without_end_is_refused),
		cmocka_unit_test(an_object_is_asked_for),
		cmocka_unit_test(strings_are_escaped),
		cmocka_unit_test(a_shape_is_an_object),
		cmocka_unit_test(numbers_come_back_as_they_were_written),
		cmocka_unit_test(a_value_made_here_is_written_short),
		cmocka_unit_test(members_are_read_with_a_fallback),
		cmocka_unit_test(invalid_characters_are_repaired),
		cmocka_unit_test(validation_agrees_with_the_parser),
		cmocka_unit_test(validation_has_the_depth_of_the_parser),
		cmocka_unit_test(stored_text_is_embedded_as_one_value),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
