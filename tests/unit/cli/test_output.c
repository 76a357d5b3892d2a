#include "cli/output.h"

#include "lib/json/json.h"

#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define THING(F, S)          \
	F(S, text, name)     \
	F(S, i64, count)     \
	F(S, i64, wal_bytes) \
	F(S, opt, maybe)     \
	F(S, bool, on) F(S, time, at) F(S, json, spec) F(S, f64, score)
SHAPE_DECLARE(thing, THING);
SHAPE_DEFINE(thing, THING);

static const struct thing one = {"ä",  7, 1234567,     OPT_NONE,
				 true, 0, "{\"a\":1}", 0.5};

static char *text;
static size_t size;

/* An output into memory, as wide as a terminal of `width`. */
static struct output begin_output(bool json, int width)
{
	struct output o = {.json = json, .width = width};

	free(text);
	text = NULL;
	o.to = open_memstream(&text, &size);
	return o;
}

static const char *end_output(struct output *o)
{
	fclose(o->to);
	return text;
}

static void a_list_is_a_table_for_people(void **state)
{
	struct output o = begin_output(false, 0);
	struct table *t = table_new(&o, &thing_shape,
				    "name count wal_bytes on");
	struct thing two = one;

	(void)state;
	two.name = "a longer name";
	two.count = 12345;
	table_add(t, &one);
	table_add(t, &two);
	table_end(t);
	assert_string_equal(end_output(&o),
			    "NAME           COUNT  WAL BYTES  ON\n"
			    "ä                  7     1.2 MB  yes\n"
			    "a longer name  12345     1.2 MB  yes\n");
}

static void a_list_is_one_object_a_line_in_json(void **state)
{
	struct output o = begin_output(true, 0);
	struct table *t = table_new(&o, &thing_shape, "name");
	cJSON *v;

	(void)state;
	table_add(t, &one);
	table_add(t, &one);
	table_end(t);
	end_output(&o);
	assert_int_equal(strchr(text, '\n') - text + 1, (long)size / 2);
	*strchr(text, '\n') = '\0';
	v = cJSON_Parse(text);
	assert_non_null(v);
	assert_int_equal(json_i64(v, "wal_bytes", 0), 1234567);
	assert_true(cJSON_IsNull(cJSON_GetObjectItem(v, "maybe")));
	assert_true(cJSON_IsObject(cJSON_GetObjectItem(v, "spec")));
	cJSON_Delete(v);
}

static void an_empty_list_says_nothing_in_a_pipe(void **state)
{
	struct output o = begin_output(false, 0);

	(void)state;
	table_end(table_new(&o, &thing_shape, "name"));
	assert_string_equal(end_output(&o), "");
	o = begin_output(true, 0);
	table_end(table_new(&o, &thing_shape, "name"));
	assert_string_equal(end_output(&o), "");
}

static void a_line_fits_the_terminal(void **state)
{
	struct output o = begin_output(false, 60);
	struct table *t = table_new(&o, &thing_shape, "name count spec");
	struct thing wide = one;
	char *rest = NULL;

	(void)state;
	wide.name = "日本語日本語日本語日本語日本語日本語日本語";
	wide.spec = "{\"a long\":\"specification that does not fit\"}";
	table_add(t, &wide);
	table_end(t);
	end_output(&o);
	for (char *l = strtok_r(text, "\n", &rest); l;
	     l = strtok_r(NULL, "\n", &rest))
		assert_true(output_columns(l, strlen(l)) <= 60);
	o = begin_output(false, 60);
	t = table_new(&o, &thing_shape, "name count spec");
	table_add(t, &wide);
	table_end(t);
	assert_non_null(strstr(end_output(&o), "…"));
}

/* Generated widths: a line never exceeds the terminal, and the first column is
 * complete if it has room. */
static void a_table_fits_every_width(void **state)
{
	struct thing row = one;

	(void)state;
	row.name = "a-name";
	row.spec = "{\"long\":\"specification\"}";
	for (int width = 8; width < 120; width++) {
		struct output o = begin_output(false, width);
		struct table *t = table_new(&o, &thing_shape,
					    "name count spec at score on");
		char *rest = NULL;

		table_add(t, &row);
		table_end(t);
		end_output(&o);
		assert_non_null(strstr(text, "a-name"));
		for (char *l = strtok_r(text, "\n", &rest); l;
		     l = strtok_r(NULL, "\n", &rest))
			assert_true(output_columns(l, strlen(l)) <= width);
	}
}

static void times_are_ages_for_people(void **state)
{
	static const struct {
		int64_t ms;
		const char *text;
	} ages[] = {
		{0, "just now"},           {999, "just now"},
		{1000, "1 s ago"},         {59999, "59 s ago"},
		{60000, "1 min ago"},      {120000, "2 min ago"},
		{3600000, "1 h ago"},      {47 * 3600000, "47 h ago"},
		{172800000, "2 days ago"}, {-5000, "in 5 s"},
		{-7200000, "in 2 h"},
	};
	char out[OUTPUT_AGE];

	(void)state;
	for (size_t i = 0; i < sizeof ages / sizeof ages[0]; i++)
		assert_string_equal(
			output_age(INT64_C(1000000000000),
				   INT64_C(1000000000000) + ages[i].ms, out),
			ages[i].text);
}

static void ids_are_short_and_states_have_glyphs_for_people(void **state)
{
	struct thing row = one;
	struct buf b = BUF_MAX(256);

	(void)state;
	row.name = "run_01m7p98269w41a3xckfqacn3rc";
	output_short_cell(&b, &thing_shape.fields[0], &row);
	assert_string_equal(b.p, "01m7p98269w4");
	buf_clear(&b);
	row.name = "run_not-an-id";
	output_short_cell(&b, &thing_shape.fields[0], &row);
	assert_string_equal(b.p, "run_not-an-id");
	buf_fini(&b);
	assert_string_equal(output_state("running").glyph, "●");
	assert_int_equal(output_state("failed").style, STYLE_BAD);
	assert_string_equal(output_state("no such state").glyph, "");
}

static void a_long_list_streams_with_settled_widths(void **state)
{
	struct output o = begin_output(false, 0);
	struct table *t = table_new(&o, &thing_shape, "name count");
	struct thing row = one;
	long lines = 0;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		row.count = i;
		table_add(t, &row);
	}
	table_end(t);
	end_output(&o);
	for (const char *p = text; *p; p++)
		lines += *p == '\n';
	assert_int_equal(lines, 1001);
	assert_non_null(strstr(text, "\nä         0\n"));
	assert_non_null(strstr(text, "\nä       999\n"));
}

static void control_characters_never_reach_a_terminal(void **state)
{
	static const char nasty[] = "a\033[31mb\x07\x7f\xc2\x9b" /* C1 CSI */
				    "1m\xe2\x80\xae" /* turns text round */
				    "c\xff\r\n\t";
	struct buf b = BUF_MAX(4096);

	(void)state;
	output_safe(&b, nasty, sizeof nasty - 1, false);
	assert_string_equal(b.p, "a\\x1b[31mb\\x07\\x7f\\xc2\\x9b1m"
				 "\\xe2\\x80\\xaec\\xff\\x0d\\n\\t");
	buf_clear(&b);
	output_safe(&b, nasty, sizeof nasty - 1, true);
	assert_string_equal(b.p + b.n - 6, "\\x0d\n\t");
	buf_fini(&b);
}

static void an_object_is_lines_or_one_json_object(void **state)
{
	struct output o = begin_output(false, 0);

	(void)state;
	output_object(&o, &thing_shape, &one);
	assert_string_equal(end_output(&o), "name       ä\n"
					    "count      7\n"
					    "wal_bytes  1.2 MB\n"
					    "maybe      -\n"
					    "on         yes\n"
					    "at         1970-01-01 00:00:00\n"
					    "spec       {\"a\":1}\n"
					    "score      0.5\n");
	o = begin_output(true, 0);
	output_object(&o, &thing_shape, &one);
	end_output(&o);
	assert_ptr_equal(strchr(text, '\n'), text + size - 1);
}

static void notes_are_not_part_of_json(void **state)
{
	struct output o = begin_output(true, 0);

	(void)state;
	output_note(&o, "removed %s", "x");
	assert_string_equal(end_output(&o), "");
	o = begin_output(false, 0);
	output_note(&o, "removed %s", "x\033y");
	assert_string_equal(end_output(&o), "removed x\\x1by\n");
}

static void colour_is_for_terminals_that_want_it(void **state)
{
	struct output o;

	(void)state;
	output_init(&o, stdout, false, false);
	o.colour = false;
	assert_string_equal(output_style(&o, STYLE_BAD), "");
	o.colour = true;
	assert_string_equal(output_style(&o, STYLE_BAD), "\033[31m");
	output_init(&o, tmpfile(), false, false);
	assert_false(o.colour);
	assert_int_equal(o.width, 0);
	fclose(o.to);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_list_is_a_table_for_people),
		cmocka_unit_test(a_list_is_one_object_a_line_in_json),
		cmocka_unit_test(an_empty_list_says_nothing_in_a_pipe),
		cmocka_unit_test(a_line_fits_the_terminal),
		cmocka_unit_test(a_table_fits_every_width),
		cmocka_unit_test(times_are_ages_for_people),
		cmocka_unit_test(
			ids_are_short_and_states_have_glyphs_for_people),
		cmocka_unit_test(a_long_list_streams_with_settled_widths),
		cmocka_unit_test(control_characters_never_reach_a_terminal),
		cmocka_unit_test(an_object_is_lines_or_one_json_object),
		cmocka_unit_test(notes_are_not_part_of_json),
		cmocka_unit_test(colour_is_for_terminals_that_want_it),
	};
	int rc;

	setlocale(LC_CTYPE, "C.UTF-8");
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	free(text);
	return rc;
}
