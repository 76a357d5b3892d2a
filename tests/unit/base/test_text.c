#include "lib/base/hash.h"
#include "lib/base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void names_are_one_path_component(void **state)
{
	static const char *const good[] = {"a", "Bob-2", "x.y_z", "0"};
	static const char *const bad[] = {
		"",    ".",   "..",   ".hidden", "-x",   "a/b",
		"a b", "a\n", "\xff", "é",       "a\tb", "_x",
		"a:b", "~",   "a\\b", "con*",    "a\x7f"};
	struct err e;

	(void)state;
	for (size_t i = 0; i < COUNT(good); i++)
		assert_int_equal(text_check_name("agent", good[i], &e), 0);
	for (size_t i = 0; i < COUNT(bad); i++) {
		assert_int_equal(text_check_name("agent", bad[i], &e), -1);
		assert_int_equal(e.code, ERR_USAGE);
		assert_non_null(strstr(e.text, "agent"));
		assert_null(strchr(e.text, '\n'));
	}
}

static void a_name_has_at_most_64_bytes(void **state)
{
	char name[66];
	struct err e;

	(void)state;
	memset(name, 'n', sizeof name);
	name[64] = '\0';
	assert_int_equal(text_check_name("agent", name, &e), 0);
	name[64] = 'n';
	name[65] = '\0';
	assert_int_equal(text_check_name("agent", name, &e), -1);
	assert_non_null(strstr(e.text, "65 bytes"));
}

static void keys_are_printable_utf8(void **state)
{
	struct err e;

	(void)state;
	assert_int_equal(text_check_key("key", "chat:42/é 😀", 300, &e), 0);
	assert_int_equal(text_check_key("key", "", 300, &e), -1);
	assert_int_equal(text_check_key("key", "a\nb", 300, &e), -1);
	assert_non_null(strstr(e.text, "\\x0a"));
	assert_int_equal(text_check_key("key", "a\xff", 300, &e), -1);
	assert_non_null(strstr(e.text, "\\xff"));
	assert_int_equal(text_check_key("key", "abcd", 3, &e), -1);
}

static void a_key_of_ten_megabytes_is_named_in_short(void **state)
{
	static char huge[10 << 20];
	struct err e;

	(void)state;
	memset(huge, 'k', sizeof huge - 1);
	assert_int_equal(text_check_key("session key", huge, 512, &e), -1);
	assert_true(strlen(e.text) < 300);
	assert_non_null(strstr(e.text, "10485759 bytes"));
}

/* All sizes: the whole text, or whole characters of its begin and a mark. */
static void a_text_that_does_not_fit_is_marked(void **state)
{
	static const char text[] = "aé€😀bcé€😀é€😀";
	char out[64], same[64];

	(void)state;
	for (size_t size = 4; size <= sizeof text + 2; size++) {
		size_t n;

		memset(out, 'x', sizeof out);
		text_fit(out, size, text);
		text_printf(same, size, "%s", text);
		assert_string_equal(out, same);
		n = strlen(out);
		assert_true(n < size && text_is_utf8(out, n));
		assert_int_equal(out[size], 'x');
		if (size >= sizeof text) {
			assert_string_equal(out, text);
			continue;
		}
		assert_string_equal(out + n - strlen("…"), "…");
		assert_memory_equal(out, text, n - strlen("…"));
	}
}

static void a_cut_leaves_whole_characters(void **state)
{
	static const char *const pairs[][2] = {
		{"", ""},
		{"plain", "plain"},
		{"a\xe2\x82\xac", "a\xe2\x82\xac"},
		{"a\xe2\x82", "a"},
		{"a\xe2", "a"},
		{"\xf0\x9f\x90", ""},
		{"\xf0\x9f\x90\x9d", "\xf0\x9f\x90\x9d"},
		{"a\xc3\xa9", "a\xc3\xa9"},
		{"a\xc3", "a"},
	};
	char text[16];

	(void)state;
	for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
		snprintf(text, sizeof text, "%s", pairs[i][0]);
		text_end_whole(text);
		assert_string_equal(text, pairs[i][1]);
	}
}

static void words_of_others_become_text(void **state)
{
	static const char *const pairs[][2] = {
		{"", ""},
		{"fine \xe2\x82\xac", "fine \xe2\x82\xac"},
		{"ab\xff\xfe", "ab??"},
		{"\xc3", "?"},
		{"\xed\xa0\x80.", "???."},
		{"a\r\n\x1b[1m\x7f", "a   [1m "},
		{"\xc2\x9b\xc2\xa0", "  \xc2\xa0"},
	};
	char text[32];

	(void)state;
	for (size_t i = 0; i < COUNT(pairs); i++) {
		snprintf(text, sizeof text, "%s", pairs[i][0]);
		text_clean(text);
		assert_string_equal(text, pairs[i][1]);
	}
}

static void bad_utf8_is_told_from_good(void **state)
{
	static const char *const good[] = {"a", "\xc3\xa9", "\xe2\x82\xac",
					   "\xf0\x9f\x98\x80",
					   "\xf4\x8f\xbf\xbf"};
	static const char *const bad[] = {
		"\x80",             /* a continuation alone */
		"\xc3",             /* cut */
		"\xc0\xaf",         /* overlong / */
		"\xe0\x80\xaf",     /* overlong / */
		"\xed\xa0\x80",     /* surrogate */
		"\xf4\x90\x80\x80", /* past the last */
		"\xf8\x88\x80\x80\x80",
		"\xfe",
		"\xff"};

	(void)state;
	for (size_t i = 0; i < COUNT(good); i++)
		assert_true(text_is_utf8(good[i], strlen(good[i])));
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_false(text_is_utf8(bad[i], strlen(bad[i])));
	assert_false(text_is_utf8("\xe2\x82\xac", 2));
}

static void a_picture_of_bytes_is_short_and_printable(void **state)
{
	char many[500];

	(void)state;
	assert_string_equal(quoted("plain é").text, "plain é");
	assert_string_equal(quotedn("a\0b\n\x7f\xff", 6).text,
			    "a\\x00b\\x0a\\x7f\\xff");
	memset(many, 1, sizeof many);
	assert_true(strlen(quotedn(many, sizeof many).text) < 96);
	assert_non_null(strstr(quotedn(many, sizeof many).text, "…"));
}

static void sizes_have_units(void **state)
{
	static const struct {
		const char *text;
		int64_t want;
	} good[] = {{"0", 0},           {"123", 123},      {"64k", 65536},
		    {"10MB", 10000000}, {"1GiB", 1 << 30}, {"1.5m", 1572864},
		    {"2 B", -1}};
	int64_t v;
	struct err e;

	(void)state;
	for (size_t i = 0; i < COUNT(good); i++) {
		int rc = text_bytes("size", good[i].text, &v, &e);

		assert_int_equal(rc, good[i].want < 0 ? -1 : 0);
		if (!rc)
			assert_int_equal(v, good[i].want);
	}
}

static void times_have_units(void **state)
{
	int64_t v;
	struct err e;

	(void)state;
	assert_int_equal(text_millis("t", "250ms", &v, &e), 0);
	assert_int_equal(v, 250);
	assert_int_equal(text_millis("t", "1.5s", &v, &e), 0);
	assert_int_equal(v, 1500);
	assert_int_equal(text_millis("t", "2h", &v, &e), 0);
	assert_int_equal(v, 7200000);
	assert_int_equal(text_millis("t", "7d", &v, &e), 0);
	assert_int_equal(v, 604800000);
	assert_int_equal(text_millis("t", "3", &v, &e), 0);
	assert_int_equal(v, 3000);
}

static void what_is_no_amount_is_refused_by_name(void **state)
{
	static const char *const bad[] = {
		"",    "x",   "-1",   "-0",    "+1",   " 1",        "1 ",
		"nan", "inf", "0x10", "1e999", "9e30", "12parsecs", "1k1"};
	int64_t v = 77;
	struct err e;

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++) {
		assert_int_equal(text_bytes("--limit", bad[i], &v, &e), -1);
		assert_non_null(strstr(e.text, "--limit"));
		assert_int_equal(text_millis("--limit", bad[i], &v, &e), -1);
	}
	assert_int_equal(v, 77);
}

static void numbers_are_whole_and_in_range(void **state)
{
	static const char *const bad[] = {"",   "x",   "1.5",
					  "11", "-11", " 5",
					  "5 ", "5x",  "99999999999999999999",
					  "0x5"};
	int64_t v = 77;
	struct err e;

	(void)state;
	assert_int_equal(text_i64("n", "-10", -10, 10, &v, &e), 0);
	assert_int_equal(v, -10);
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_int_equal(text_i64("n", bad[i], -10, 10, &v, &e), -1);
	assert_int_equal(v, -10);
}

static void amounts_read_well(void **state)
{
	char out[TEXT_HUMAN];

	(void)state;
	assert_string_equal(text_human_bytes(0, out), "0 B");
	assert_string_equal(text_human_bytes(999, out), "999 B");
	assert_string_equal(text_human_bytes(1234567, out), "1.2 MB");
	assert_string_equal(text_human_bytes(10000000, out), "10 MB");
	assert_string_equal(text_human_bytes(INT64_MAX, out), "9223372 TB");
	assert_string_equal(text_duration(0, out), "0s");
	assert_string_equal(text_duration(500, out), "500ms");
	assert_string_equal(text_duration(90000, out), "90s");
	assert_string_equal(text_duration(300000, out), "5m");
	assert_string_equal(text_duration(172800000, out), "2d");
	assert_string_equal(text_human_millis(1500, out), "1.5s");
	assert_string_equal(text_human_millis(185000, out), "3m05s");
	assert_string_equal(text_human_millis(90000000, out), "1d01h");
}

static void the_hash_is_sha256(void **state)
{
	char whole[HASH_HEX], pieces[HASH_HEX];
	struct hash *h = hash_new();

	(void)state;
	hash_of("abc", 3, whole);
	assert_string_equal(whole, "ba7816bf8f01cfea414140de5dae2223"
				   "b00361a396177a9cb410ff61f20015ad");
	hash_add(h, "a", 1);
	hash_add(h, "", 0);
	hash_add(h, "bc", 2);
	hash_end(h, pieces);
	assert_string_equal(pieces, whole);
	hash_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_one_path_component),
		cmocka_unit_test(a_name_has_at_most_64_bytes),
		cmocka_unit_test(keys_are_printable_utf8),
		cmocka_unit_test(a_key_of_ten_megabytes_is_named_in_short),
		cmocka_unit_test(words_of_others_become_text),
		cmocka_unit_test(bad_utf8_is_told_from_good),
		cmocka_unit_test(a_cut_leaves_whole_characters),
		cmocka_unit_test(a_text_that_does_not_fit_is_marked),
		cmocka_unit_test(a_picture_of_bytes_is_short_and_printable),
		cmocka_unit_test(sizes_have_units),
		cmocka_unit_test(times_have_units),
		cmocka_unit_test(what_is_no_amount_is_refused_by_name),
		cmocka_unit_test(numbers_are_whole_and_in_range),
		cmocka_unit_test(amounts_read_well),
		cmocka_unit_test(the_hash_is_sha256),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
