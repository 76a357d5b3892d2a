#include "tests/support/agent_fixture.h"

#include "lib/base/text.h"
#include "schema/agent/search/search.h"
#include "schema/agent/search/search_text.h"
#include "schema/agent/transcript/branch.h"
#include "schema/agent/transcript/part.h"
#include "schema/agent/transcript/session.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct search_hit *hits;

static int find_hits(struct search s)
{
	struct err e = {0};
	int n = search_run(&file, &s, &hits, &mem, &e);

	if (n < 0)
		fail_msg("%s: %s", s.query, e.text);
	return n;
}

static int count_hits(const char *query)
{
	return find_hits((struct search){.query = query});
}

static enum err_code refused(struct search s, const char *says)
{
	struct err e = {0};

	assert_int_equal(search_run(&file, &s, &hits, &mem, &e), -1);
	if (!strstr(e.text, says))
		fail_msg("%s", e.text);
	return e.code;
}

static void append_body(struct writer *w, const char *type, const char *body)
{
	struct event_ref ref;
	struct err e = {0};

	if (writer_append(w,
			  &(struct event_new){.type = type,
					      .body = body,
					      .parent = WRITER_LEAF},
			  &ref, &e))
		fail_msg("%s", e.text);
}

static int64_t query_number(const char *text)
{
	struct err e = {0};
	int64_t n;

	if (sql_script_i64(file.db, text, &n, &e))
		fail_msg("%s: %s", text, e.text);
	return n;
}

/* FTS5's record of its segments: after a cookie of four bytes the number of
 * levels and that of segments, each one byte if it is under 128. */
static int64_t segments(void)
{
	return query_number(
		"SELECT 16 * instr('123456789ABCDEF', substr(h, 1, 1)) + "
		"instr('123456789ABCDEF', substr(h, 2, 1)) FROM (SELECT "
		"hex(substr(block, 6, 1)) AS h FROM search_text_data "
		"WHERE id = 10)");
}

/* --- finding ---------------------------------------------------------- */

/* More matches than are ranked at once: page by page all of them come, each once,
 * the newest first. The first event would be the best of all. */
static void a_common_word_is_found_to_the_end(void **state)
{
	enum { ALL = SEARCH_WINDOW + 3 };
	static bool seen[ALL + 1];
	struct err e = {0};
	struct writer w;
	int found = 0, n;

	(void)state;
	test_writer_open(&w, &file, "chat");
	assert_int_equal(sql_enter(file.db, &e), 0);
	for (int i = 1; i <= ALL; i++)
		append_body(
			&w, "message",
			i == 1 ? "{\"content\":\"word word word\"}"
			       : "{\"content\":\"a longer text with word\"}");
	assert_int_equal(sql_leave(file.db, 0, &e), 0);
	memset(seen, 0, sizeof seen);
	while ((n = find_hits((struct search){
			.query = "word", .count = 1000, .skip = found})) > 0) {
		for (int i = 0; i < n; i++) {
			assert_false(seen[hits[i].seq]);
			seen[hits[i].seq] = true;
		}
		found += n;
		assert_int_equal(seen[1], found > SEARCH_WINDOW);
	}
	assert_int_equal(found, ALL);
}

static void words_are_found_with_a_snippet_best_first(void **state)
{
	struct writer w;

	(void)state;
	test_writer_open(&w, &file, "chat");
	test_append_message(
		&w, "the quick brown fox jumps over the lazy dog and more");
	test_append_message(&w, "Fox! A fox is a fox.");
	test_append_message(&w, "nothing to see");
	assert_int_equal(count_hits("fox"), 2);
	assert_int_equal(hits[0].seq, 2);
	assert_true(hits[0].score > hits[1].score);
	assert_non_null(strstr(hits[1].snippet, "brown [fox] jumps"));
	assert_string_equal(hits[0].key, "chat");
	assert_string_equal(hits[0].sid, w.sid);
	assert_string_equal(hits[0].type, "message");
	assert_int_equal(count_hits("fox lazy"), 1);
	assert_int_equal(count_hits("\"lazy dog\""), 1);
	assert_int_equal(count_hits("\"dog lazy\""), 0);
	assert_int_equal(count_hits("jum*"), 1);
	assert_int_equal(count_hits("jum"), 0);
	assert_int_equal(find_hits((struct search){.query = "fox",
						   .mark = {"<b>", "</b>"}}),
			 2);
	assert_non_null(strstr(hits[1].snippet, "<b>fox</b>"));
}

static void whatever_a_person_types_works(void **state)
{
	static const char *const typed[] = {
		"fox AND",      "NOT fox",   "fox OR dog", "(fox",
		"fox)",         "text:fox",  "fox - dog",  "\"fox",
		"f\"ox\"",      "fox — dog", "'fox'",      "fox ^ + *",
		"{fox}",        "-fox",      "NEAR(fox)",  "fox\tdog",
		"fox 🦊 dog", "*fox"};
	struct writer w;

	(void)state;
	test_writer_open(&w, &file, "chat");
	test_append_message(&w, "text fox and a dog, not or near fox ox f");
	for (size_t i = 0; i < sizeof typed / sizeof typed[0]; i++)
		if (count_hits(typed[i]) != 1)
			fail_msg("%s finds %d", typed[i], count_hits(typed[i]));
	assert_int_equal(refused((struct search){.query = " \t"}, "no word"),
			 ERR_USAGE);
	assert_int_equal(refused((struct search){.query = "*"}, "no word"),
			 ERR_USAGE);
	assert_int_equal(refused((struct search){.query = "\xff"}, "UTF-8"),
			 ERR_USAGE);
}

static void a_wrong_expression_is_explained(void **state)
{
	struct search s = {.flags = SEARCH_ADVANCED};
	struct writer w;

	(void)state;
	test_writer_open(&w, &file, "chat");
	test_append_message(&w, "fox and dog");
	test_append_message(&w, "fox and cat");
	s.query = "fox NOT cat";
	assert_int_equal(find_hits(s), 1);
	s.query = "fox NEAR(";
	assert_int_equal(
		refused(s, "invalid search expression 'fox NEAR(': fts5:"),
		ERR_USAGE);
	s.query = "colour: fox";
	assert_int_equal(refused(s, "no such column: colour"), ERR_USAGE);
	s.query = "";
	assert_int_equal(refused(s, "invalid search expression"), ERR_USAGE);
	s.query = "fox";
	assert_int_equal(find_hits(s), 2);
}

static void filters_narrow_by_session_type_and_time(void **state)
{
	struct search s = {.query = "word"};
	struct writer one, two;

	(void)state;
	test_writer_open(&one, &file, "one");
	test_writer_open(&two, &file, "two");
	test_append_message(&one, "word");
	append_body(&one, "note", "{\"text\":\"word\"}");
	append_body(&one, "odd-type", "{\"text\":\"word\"}");
	test_append_message(&two, "word");
	test_sql(&file, "UPDATE event SET at = 1000 * (pos & 15)");
	assert_int_equal(find_hits(s), 4);
	s.session = "one";
	assert_int_equal(find_hits(s), 3);
	s.type = "note";
	assert_int_equal(find_hits(s), 1);
	assert_int_equal(hits[0].seq, 2);
	s.type = "odd-type";
	assert_int_equal(find_hits(s), 1);
	assert_string_equal(hits[0].type, "odd-type");
	s = (struct search){.query = "word", .from = 2000, .until = 3000};
	assert_int_equal(find_hits(s), 1);
	assert_int_equal(hits[0].at, 2000);
	s = (struct search){
		.query = "word", .flags = SEARCH_NEWEST, .skip = 1, .count = 2};
	assert_int_equal(find_hits(s), 2);
	assert_int_equal(hits[0].at, 2000);
	assert_int_equal(
		refused((struct search){.query = "word", .session = "none"},
			"none"),
		ERR_NOTFOUND);
}

static void only_what_people_read_is_indexed(void **state)
{
	struct writer w;

	(void)state;
	test_writer_open(&w, &file, "chat");
	append_body(
		&w, "message",
		"{\"role\":\"user\",\"id\":\"m77\",\"content\":[{\"type\":"
		"\"text\",\"text\":\"caf\\u00e9 \\ud83d\\ude00 na\\u00efve\"},"
		"{\"type\":\"image\",\"data\":\"QUJD\"}],\"model\":\"gpt\"}");
	append_body(&w, "tool_call",
		    "{\"name\":\"shell\",\"arguments\":{\"cmd\":[\"ls\",\"-"
		    "la\"]}}");
	assert_int_equal(count_hits("cafe"), 1);
	assert_int_equal(count_hits("CAFÉ naive"), 1);
	assert_int_equal(count_hits("user"), 0);
	assert_int_equal(count_hits("m77"), 0);
	assert_int_equal(count_hits("image"), 0);
	assert_int_equal(count_hits("QUJD"), 0);
	assert_int_equal(count_hits("gpt"), 0);
	assert_int_equal(count_hits("shell la"), 1);
}

static void growing_parts_are_found_as_they_grow(void **state)
{
	struct part_new n = {.kind = "tool",
			     .name = "grep",
			     .input = "{\"pattern\":\"needle\"}"};
	struct part p;
	struct writer w;
	struct err e = {0};
	int64_t seq;

	(void)state;
	test_writer_open(&w, &file, "chat");
	seq = test_append_message(&w, "looking");
	assert_int_equal(count_hits("looking"), 1);
	if (part_open(&p, &w, w.session << 32 | seq, &n, &e))
		fail_msg("%s", e.text);
	assert_int_equal(count_hits("needle"), 1);
	assert_int_equal(part_add(&p, "first ", 6, &e), 0);
	assert_int_equal(part_flush(&p, &e), 0);
	assert_int_equal(count_hits("first"), 1);
	assert_int_equal(count_hits("second"), 0);
	part_add(&p, "second", 6, &e);
	assert_int_equal(
		part_set(&p,
			 &(struct part_change_new){.state = "done",
						   .output = "[\"third\"]"},
			 &e),
		0);
	assert_int_equal(count_hits("first second third grep"), 1);
	part_close(&p);
}

/* --- staying in step -------------------------------------------------- */

static void what_was_rewound_is_found_only_on_request(void **state)
{
	struct search s = {.query = "word", .flags = SEARCH_HIDDEN};
	struct writer w;
	struct err e;

	(void)state;
	test_writer_open(&w, &file, "chat");
	test_append_message(&w, "word one");
	test_append_message(&w, "word two");
	assert_int_equal(count_hits("word"), 2);
	assert_int_equal(session_rewind(&file, "chat", 1, &e), 0);
	assert_int_equal(count_hits("word"), 1);
	assert_int_equal(find_hits(s), 2);
	assert_int_equal(session_restore(&file, "chat", &e), 0);
	assert_int_equal(count_hits("word"), 2);
}

static void a_fork_finds_its_history_and_keeps_it(void **state)
{
	struct fork_new fork = {.from = "chat", .key = "branch", .at = 2};
	struct search in_fork = {.query = "word", .session = "branch"};
	struct session_row row;
	struct writer w;
	struct err e = {0};

	(void)state;
	test_writer_open(&w, &file, "chat");
	test_append_message(&w, "word one");
	test_append_message(&w, "word two");
	test_append_message(&w, "word three");
	if (session_fork(&file, &fork, &row, &mem, &e))
		fail_msg("%s", e.text);
	assert_int_equal(find_hits(in_fork), 2);
	assert_string_equal(hits[0].key, "branch");
	assert_int_equal(count_hits("word"), 3);
	assert_string_equal(hits[0].key, "chat");
	assert_int_equal(session_rewind(&file, "chat", 1, &e), 0);
	assert_int_equal(count_hits("word"), 2);
	if (session_delete(&file, "chat", &e))
		fail_msg("%s", e.text);
	assert_int_equal(count_hits("word"), 2);
	assert_string_equal(hits[0].key, "branch");
	assert_int_equal(find_hits(in_fork), 2);
}

static void archived_sessions_are_found_on_request(void **state)
{
	struct search s = {.query = "word", .flags = SEARCH_ARCHIVED};
	struct session_row row;
	struct writer w;
	struct err e = {0};

	(void)state;
	test_writer_open(&w, &file, "chat");
	test_append_message(&w, "word");
	if (session_patch(&file, "chat", "{\"status\":\"archived\"}", 0, &row,
			  &mem, &e))
		fail_msg("%s", e.text);
	assert_int_equal(count_hits("word"), 0);
	assert_int_equal(find_hits(s), 1);
	s = (struct search){.query = "word", .session = "chat"};
	assert_int_equal(find_hits(s), 1);
}

static void a_deleted_session_leaves_nothing_to_its_successor(void **state)
{
	struct search_stats st;
	struct writer w;
	struct err e = {0};
	int64_t was;

	(void)state;
	test_writer_open(&w, &file, "old");
	test_append_message(&w, "secret");
	test_append_message(&w, "secret");
	assert_int_equal(count_hits("secret"), 2);
	was = w.session;
	if (session_delete(&file, "old", &e))
		fail_msg("%s", e.text);
	test_writer_open(&w, &file, "new");
	assert_int_equal(w.session, was);
	test_append_message(&w, "harmless");
	assert_int_equal(count_hits("secret"), 0);
	assert_int_equal(count_hits("harmless"), 1);
	assert_int_equal(search_stats(&file, &st, &e), 0);
	assert_int_equal(st.indexed, 1);
	assert_int_equal(st.dirty + st.behind, 0);
}

static void appending_does_not_touch_the_index(void **state)
{
	struct search_stats st;
	struct writer w;
	struct err e;

	(void)state;
	test_writer_open(&w, &file, "chat");
	for (int i = 0; i < 1000; i++)
		test_append_message(&w, "word");
	assert_int_equal(search_stats(&file, &st, &e), 0);
	assert_int_equal(st.indexed, 0);
	assert_int_equal(st.behind, 1000);
	assert_int_equal(find_hits((struct search){.query = "word",
						   .flags = SEARCH_AS_IS}),
			 0);
	assert_int_equal(
		find_hits((struct search){.query = "word", .count = 1000}),
		1000);
	assert_int_equal(search_update(&file, 0, NULL, &e), 0);
}

static void a_broken_index_can_be_made_anew(void **state)
{
	struct writer w;
	struct err e = {0};

	(void)state;
	test_writer_open(&w, &file, "chat");
	for (int i = 0; i < 600; i++)
		test_append_message(&w, i % 2 ? "odd" : "even");
	assert_int_equal(
		find_hits((struct search){.query = "odd", .count = 1000}), 300);
	test_sql(&file, "DELETE FROM search_text_data WHERE id > 1");
	if (search_rebuild(&file, &e) != 600)
		fail_msg("%s", e.text);
	assert_int_equal(
		find_hits((struct search){.query = "odd", .count = 1000}), 300);
}

#define TEST(f) \
	cmocka_unit_test_setup_teardown(f, set_up_agent, tear_down_agent)

/* Each session is a batch of its own. */
static void append_to_many_sessions(int from, int to)
{
	for (int i = from; i < to; i++) {
		struct writer w;
		char key[16];

		snprintf(key, sizeof key, "s%d", i);
		test_writer_open(&w, &file, key);
		test_append_message(&w, "a common word");
	}
}

static void the_segments_of_a_large_update_are_merged_once(void **state)
{
	struct err e = {0};

	(void)state;
	append_to_many_sessions(0, 60);
	assert_int_equal(count_hits("common"), 20);
	assert_in_range(segments(), 1, 3);
	assert_int_equal(
		query_number("SELECT v FROM search_text_config WHERE k = "
			     "'automerge'"),
		4);
	/* a process that died while it collected them */
	if (sql_script(file.db,
		       "INSERT INTO search_text (search_text, rank) VALUES "
		       "('automerge', 0), ('crisismerge', 1950)",
		       &e) ||
	    search_update(&file, 0, NULL, &e) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(
		query_number("SELECT v FROM search_text_config WHERE k = "
			     "'automerge'"),
		4);
	append_to_many_sessions(60, 63);
	assert_int_equal(
		find_hits((struct search){.query = "common", .count = 100}),
		63);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(words_are_found_with_a_snippet_best_first),
		TEST(a_common_word_is_found_to_the_end),
		TEST(whatever_a_person_types_works),
		TEST(a_wrong_expression_is_explained),
		TEST(filters_narrow_by_session_type_and_time),
		TEST(only_what_people_read_is_indexed),
		TEST(growing_parts_are_found_as_they_grow),
		TEST(what_was_rewound_is_found_only_on_request),
		TEST(a_fork_finds_its_history_and_keeps_it),
		TEST(archived_sessions_are_found_on_request),
		TEST(a_deleted_session_leaves_nothing_to_its_successor),
		TEST(appending_does_not_touch_the_index),
		TEST(a_broken_index_can_be_made_anew),
		TEST(the_segments_of_a_large_update_are_merged_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
