/* The writer of JSON. */
#include "lib/json/json.h"

#include <inttypes.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void members_are_written_with_their_commas(void **state)
{
	struct buf b = BUF_MAX(1024);

	(void)state;
	json_begin_object(&b);
	json_put_text(&b, "none", NULL);
	json_put_opt(&b, "none", OPT_NONE);
	json_put_text(&b, "a", "x\"y");
	json_put_raw(&b, "none", NULL);
	json_put_raw(&b, "b", " {\"c\": 1}\n");
	json_put_array(&b, "d");
	json_add_text(&b, "{");
	json_add_int(&b, INT64_MIN);
	json_add_bool(&b, true);
	json_add_null(&b);
	json_begin_object(&b);
	json_end_object(&b);
	json_begin_string(&b);
	buf_adds(&b, "AA==");
	json_end_string(&b);
	json_end_array(&b);
	json_put_nullable(&b, "e", NULL);
	json_put_stored(&b, "f", "not JSON");
	json_put_members(&b, " { } ");
	json_put_members(&b, "{\"g\": 0.5} ");
	json_put_bool(&b, "h\n", false);
	json_end_object(&b);
	assert_string_equal(b.p,
			    "{\"a\":\"x\\\"y\",\"b\":{\"c\": 1},\"d\":[\"{\","
			    "-9223372036854775808,true,null,{},\"AA==\"],"
			    "\"e\":null,\"f\":\"not JSON\",\"g\": 0.5,"
			    "\"h\\n\":false}");
	assert_true(json_ok(b.p, b.n));
	buf_fini(&b);
}

static void a_line_follows_a_line_without_a_comma(void **state)
{
	struct buf b = BUF_MAX(1024);

	(void)state;
	for (int i = 0; i < 2; i++) {
		json_begin_object(&b);
		json_put_int(&b, "n", i);
		json_end_object(&b);
		buf_addc(&b, '\n');
	}
	assert_string_equal(b.p, "{\"n\":0}\n{\"n\":1}\n");
	buf_fini(&b);
}

static void indented_json_has_shallow_line_breaks(void **state)
{
	struct buf b = BUF_MAX(1024);

	(void)state;
	json_indent(&b,
		    "{\"a\":[{\"x\":\"{,:\\\"\",\"y\":[1,2]},{}],\"b\":{},"
		    "\"c\":[]}",
		    2);
	assert_string_equal(b.p,
			    "{\n  \"a\": [\n"
			    "    {\"x\": \"{,:\\\"\", \"y\": [1, 2]},\n"
			    "    {}\n  ],\n  \"b\": {},\n  \"c\": []\n}\n");
	buf_fini(&b);
}

#define MODEL_MAX 40000

/* Writes random values, and what json_quote and printf make of them. */
struct model {
	uint32_t seed;
	struct buf got, want;
	sqlite3 *db;
	sqlite3_stmt *quote; /* SQLite's own string writer */
};

static uint32_t pick(struct model *m, uint32_t n)
{
	m->seed = m->seed * 1664525 + 1013904223;
	return (m->seed >> 8) % n;
}

/* A valid text: ASCII with control characters, and characters of 2 to 4 bytes. */
static void make_text(struct model *m, struct buf *text)
{
	static const char *const wide[] = {"\xc3\xa9", "\xe2\x82\xac",
					   "\xef\xbf\xbf", "\xf0\x9f\x98\x80"};

	for (uint32_t i = pick(m, 12); i > 0; i--) {
		if (pick(m, 4) == 0)
			buf_adds(text, wide[pick(m, 4)]);
		else
			buf_addc(text, (char)(1 + pick(m, 127)));
	}
}

static void want_string(struct model *m, const struct buf *text)
{
	sqlite3_bind_text(m->quote, 1, text->p, (int)text->n, SQLITE_STATIC);
	assert_int_equal(sqlite3_step(m->quote), SQLITE_ROW);
	buf_adds(&m->want, (const char *)sqlite3_column_text(m->quote, 0));
	sqlite3_reset(m->quote);
}

static void write_value(struct model *m, int depth);

static void write_object(struct model *m, int depth)
{
	json_begin_object(&m->got);
	buf_addc(&m->want, '{');
	for (uint32_t i = 0, n = pick(m, 4); i < n; i++) {
		struct buf name = BUF_MAX(256);

		make_text(m, &name);
		buf_adds(&m->want, i ? "," : "");
		want_string(m, &name);
		buf_addc(&m->want, ':');
		json_key(&m->got, name.p);
		write_value(m, depth - 1);
		buf_fini(&name);
	}
	json_end_object(&m->got);
	buf_addc(&m->want, '}');
}

static void write_array(struct model *m, int depth)
{
	json_begin_array(&m->got);
	buf_addc(&m->want, '[');
	for (uint32_t i = 0, n = pick(m, 4); i < n; i++) {
		buf_adds(&m->want, i ? "," : "");
		write_value(m, depth - 1);
	}
	json_end_array(&m->got);
	buf_addc(&m->want, ']');
}

static void write_leaf(struct model *m)
{
	struct buf text = BUF_MAX(256);
	int64_t n = (int64_t)((uint64_t)pick(m, 1u << 24) << pick(m, 41));

	switch (pick(m, 4)) {
	case 0:
		make_text(m, &text);
		json_add_string(&m->got, text.p, text.n);
		want_string(m, &text);
		break;
	case 1:
		n = pick(m, 2) ? -n : n;
		json_add_int(&m->got, n);
		buf_addf(&m->want, "%" PRId64, n);
		break;
	case 2:
		json_add_bool(&m->got, n & 1);
		buf_adds(&m->want, n & 1 ? "true" : "false");
		break;
	default:
		json_add_null(&m->got);
		buf_adds(&m->want, "null");
	}
	buf_fini(&text);
}

static void write_value(struct model *m, int depth)
{
	uint32_t kind = depth > 0 ? pick(m, 3) : 2;

	if (kind == 0)
		write_object(m, depth);
	else if (kind == 1)
		write_array(m, depth);
	else
		write_leaf(m);
}

/* SQLite escapes DEL and some control characters in another way; the values are
 * compared, as SQLite reads them. */
static void compare(struct model *m)
{
	sqlite3_stmt *same;

	assert_true(json_ok(m->got.p, m->got.n));
	if (strcmp(m->got.p, m->want.p) == 0)
		return;
	assert_int_equal(sqlite3_prepare_v2(
				 m->db,
				 "SELECT (SELECT group_concat(fullkey || type "
				 "|| quote(atom)) FROM json_tree(?1)) IS "
				 "(SELECT group_concat(fullkey || type || "
				 "quote(atom)) FROM json_tree(?2))",
				 -1, &same, NULL),
			 SQLITE_OK);
	sqlite3_bind_text(same, 1, m->got.p, -1, SQLITE_STATIC);
	sqlite3_bind_text(same, 2, m->want.p, -1, SQLITE_STATIC);
	if (sqlite3_step(same) != SQLITE_ROW || !sqlite3_column_int(same, 0))
		fail_msg("%s\nis not\n%s", m->got.p, m->want.p);
	sqlite3_finalize(same);
}

static void random_values_are_read_by_sqlite(void **state)
{
	struct model m = {.seed = 7};

	(void)state;
	assert_int_equal(sqlite3_open(":memory:", &m.db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(m.db, "SELECT json_quote(?1)", -1,
					    &m.quote, NULL),
			 SQLITE_OK);
	buf_init(&m.got, MODEL_MAX);
	buf_init(&m.want, MODEL_MAX);
	for (int i = 0; i < 3000; i++) {
		buf_clear(&m.got);
		buf_clear(&m.want);
		write_value(&m, 4);
		compare(&m);
	}
	buf_fini(&m.got);
	buf_fini(&m.want);
	sqlite3_finalize(m.quote);
	sqlite3_close(m.db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_are_written_with_their_commas),
		cmocka_unit_test(a_line_follows_a_line_without_a_comma),
		cmocka_unit_test(indented_json_has_shallow_line_breaks),
		cmocka_unit_test(random_values_are_read_by_sqlite),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
