/* Forks, rewinds, compactions, deletion: schema/agent/transcript/branch.h. */
#include "tests/support/agent.h"
#include "tests/support/temp.h"

#include "schema/agent/transcript/branch.h"
#include "schema/agent/transcript/history.h"
#include "schema/agent/transcript/session.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct temp dir;
static struct agent_file file;
static struct arena arena;
static struct err e;

static int set_up_branch(void **state)
{
	struct writer w;

	(void)state;
	temp_make(&dir);
	test_agent_open(&file, temp_join(&dir, "agent.sqlite"));
	test_writer_open(&w, &file, "root");
	test_append_message(&w, "a");
	test_append_message(&w, "b");
	test_append_message(&w, "c");
	return 0;
}

static int tear_down_branch(void **state)
{
	(void)state;
	test_integrity(&file);
	agent_file_close(&file);
	arena_fini(&arena);
	temp_remove(&dir);
	return 0;
}

static int64_t count_rows(const char *table)
{
	char query[80];
	int64_t n = -1;

	snprintf(query, sizeof query, "SELECT count(*) FROM %s", table);
	assert_int_equal(sql_script_i64(file.db, query, &n, &e), 0);
	return n;
}

static void fork_at(const char *from, int64_t at, const char *key, bool copy)
{
	struct session_row row;
	struct fork_new n = {.from = from, .at = at, .key = key, .copy = copy};

	if (session_fork(&file, &n, &row, &arena, &e))
		fail_msg("%s", e.text);
}

static void append_message(const char *key, const char *text)
{
	struct writer w;

	test_writer_open(&w, &file, key);
	test_append_message(&w, text);
}

static void a_fork_by_pointer_copies_no_event(void **state)
{
	(void)state;
	fork_at("root", 2, "f", false);
	assert_int_equal(count_rows("event"), 3);
	append_message("f", "x");
	append_message("root", "d");
	assert_string_equal(test_path(&file, "f"), "a b x");
	assert_string_equal(test_path(&file, "root"), "a b c d");
	assert_int_equal(count_rows("event"), 5);
}

static void a_fork_of_a_fork_reads_through_both(void **state)
{
	(void)state;
	fork_at("root", 2, "f", false);
	append_message("f", "x");
	append_message("f", "y");
	fork_at("f", 3, "g", false);
	append_message("g", "z");
	fork_at("g", 1, "h", false); /* in the part that root holds */
	append_message("h", "w");
	assert_string_equal(test_path(&file, "g"), "a b x z");
	assert_string_equal(test_path(&file, "h"), "a w");
	assert_string_equal(test_log(&file, "g"), "a b x z");
}

static void a_fork_by_copy_stands_by_itself(void **state)
{
	(void)state;
	fork_at("root", 2, "copy", true);
	assert_int_equal(count_rows("event"), 5);
	assert_int_equal(session_delete(&file, "root", &e), 0);
	assert_string_equal(test_path(&file, "copy"), "a b");
	assert_int_equal(count_rows("event"), 2);
}

static void a_copy_is_refused_while_a_run_writes(void **state)
{
	struct id run = id_new(ID_RUN);
	struct fork_new n = {.from = "root", .key = "c", .copy = true};
	struct session_row row;
	struct writer w;

	(void)state;
	assert_int_equal(writer_open(&w, &file, "root",
				     &(struct writer_run){.run_id = run.text,
							  .attempt = 1,
							  .epoch = 1},
				     &e),
			 0);
	assert_int_equal(session_fork(&file, &n, &row, &arena, &e), -1);
	assert_int_equal(e.code, ERR_BUSY);
	assert_int_equal(session_delete(&file, "root", &e), -1);
	assert_int_equal(session_rewind(&file, "root", 1, &e), -1);
	fork_at("root", 1, "pointer", false);
}

static void deleting_a_parent_keeps_its_forks_whole(void **state)
{
	(void)state;
	fork_at("root", 2, "f", false);
	append_message("f", "x");
	assert_int_equal(session_delete(&file, "root", &e), 0);
	assert_string_equal(test_path(&file, "f"), "a b x");
	assert_int_equal(count_rows("event"),
			 3);           /* c is gone, a and b are not */
	append_message("root", "new"); /* the key is free again */
	assert_string_equal(test_path(&file, "root"), "new");
	assert_int_equal(session_delete(&file, "f", &e), 0);
	assert_int_equal(count_rows("event"), 1);
	assert_int_equal(count_rows("session"), 1);
}

static void a_chain_of_deleted_ancestors_goes_with_its_last_fork(void **state)
{
	(void)state;
	fork_at("root", 2, "f", false);
	append_message("f", "x");
	fork_at("f", 3, "g", false);
	assert_int_equal(session_delete(&file, "f", &e), 0);
	assert_int_equal(session_delete(&file, "root", &e), 0);
	assert_string_equal(test_path(&file, "g"), "a b x");
	assert_int_equal(session_delete(&file, "g", &e), 0);
	assert_int_equal(count_rows("session"), 0);
	assert_int_equal(count_rows("event"), 0);
}

static void a_rewind_hides_and_a_restore_brings_back(void **state)
{
	(void)state;
	assert_int_equal(session_rewind(&file, "root", 1, &e), 0);
	assert_string_equal(test_path(&file, "root"), "a");
	assert_string_equal(test_log(&file, "root"), "a b c");
	append_message("root", "x");
	assert_string_equal(test_path(&file, "root"), "a x");
	assert_int_equal(session_restore(&file, "root", &e), 0);
	assert_string_equal(test_path(&file, "root"), "a b c");
	assert_string_equal(test_log(&file, "root"), "a b c x");
	assert_int_equal(session_restore(&file, "root", &e), -1);
	assert_int_equal(e.code, ERR_NOTFOUND);
	append_message("root", "y");
	assert_string_equal(test_path(&file, "root"), "a b c y");
}

static void a_rewind_to_nothing_starts_anew(void **state)
{
	(void)state;
	assert_int_equal(session_rewind(&file, "root", 0, &e), 0);
	assert_string_equal(test_path(&file, "root"), "");
	append_message("root", "x");
	assert_string_equal(test_path(&file, "root"), "x");
}

static void a_fork_can_be_rewound_into_its_parents_part(void **state)
{
	(void)state;
	fork_at("root", 3, "f", false);
	append_message("f", "x");
	assert_int_equal(session_rewind(&file, "f", 1, &e), 0);
	assert_string_equal(test_path(&file, "f"), "a");
	append_message("f", "y");
	assert_string_equal(test_path(&file, "f"), "a y");
	assert_string_equal(test_path(&file, "root"), "a b c");
}

static void a_rewind_past_the_end_is_refused(void **state)
{
	(void)state;
	assert_int_equal(session_rewind(&file, "root", 4, &e), -1);
	assert_int_equal(e.code, ERR_NOTFOUND);
	assert_string_equal(test_path(&file, "root"), "a b c");
}

static void roll_ups_follow_what_is_visible(void **state)
{
	struct usage_new u = {.input = 10, .output = 1, .cost_nano = 7};
	struct usage_total t;
	struct event_ref ref;
	struct session_row s;
	struct history h;
	struct writer w;

	(void)state;
	test_writer_open(&w, &file, "root");
	for (int i = 0; i < 3; i++)
		assert_int_equal(
			writer_append(&w,
				      &(struct event_new){.type = "message",
							  .parent = WRITER_LEAF,
							  .usage = &u},
				      &ref, &e),
			0);
	fork_at("root", 5, "f", false);
	assert_int_equal(session_rewind(&file, "root", 4, &e), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(
			session_need(&file, i ? "f" : "root", &s, &arena, &e),
			0);
		assert_int_equal(
			history_load(&file, s.id, HISTORY_PATH, &h, &arena, &e),
			0);
		assert_int_equal(history_usage(&file, &h, &t, &e), 0);
		assert_int_equal(t.input, i ? 20 : 10);
		assert_int_equal(t.cost_nano, i ? 14 : 7);
	}
}

static void a_compaction_stands_for_what_came_before(void **state)
{
	struct compaction_new c = {2, "they said a and b", 100, 10};
	struct event_ref ref;
	struct session_row s;
	struct history h;
	struct writer w;

	(void)state;
	test_writer_open(&w, &file, "root");
	assert_int_equal(session_compact(&w, &c, &ref, &e), 0);
	test_append_message(&w, "d");
	assert_int_equal(session_need(&file, "root", &s, &arena, &e), 0);
	assert_int_equal(
		history_load(&file, s.id, HISTORY_MODEL, &h, &arena, &e), 0);
	assert_string_equal(h.summary, "they said a and b");
	assert_int_equal(h.segments[0].first, 3);
	assert_int_equal(history_last(&h), 5);
	assert_int_equal(history_load(&file, s.id, HISTORY_LOG, &h, &arena, &e),
			 0);
	assert_int_equal(h.segments[0].first, 1);
	/* rewound to before it, the model sees everything again */
	assert_int_equal(session_rewind(&file, "root", 3, &e), 0);
	assert_int_equal(
		history_load(&file, s.id, HISTORY_MODEL, &h, &arena, &e), 0);
	assert_null(h.summary);
	assert_int_equal(h.segments[0].first, 1);
}

static void a_fork_inherits_no_permission(void **state)
{
	struct grant_row *grants;
	struct session_row s;

	(void)state;
	assert_int_equal(session_need(&file, "root", &s, &arena, &e), 0);
	assert_int_equal(session_grant(&file, s.id, "bash", NULL, "allow", &e),
			 0);
	for (int copy = 0; copy < 2; copy++) {
		fork_at("root", 0, copy ? "c" : "p", copy);
		assert_int_equal(
			session_need(&file, copy ? "c" : "p", &s, &arena, &e),
			0);
		assert_int_equal(
			session_grants(&file, s.id, &grants, &arena, &e), 0);
	}
}

static void the_family_is_listed_from_its_root(void **state)
{
	struct session_lineage *rows;

	(void)state;
	fork_at("root", 2, "f", false);
	fork_at("f", 2, "g", false);
	fork_at("root", 1, "h", false);
	assert_int_equal(session_tree(&file, "f", &rows, &arena, &e), 4);
	assert_string_equal(rows[0].key, "root");
	assert_int_equal(rows[0].depth, 0);
	assert_int_equal(rows[3].depth, 1);
}

static void a_taken_key_is_no_fork(void **state)
{
	struct fork_new n = {.from = "root", .key = "root"};
	struct session_row row;

	(void)state;
	assert_int_equal(session_fork(&file, &n, &row, &arena, &e), -1);
	assert_int_equal(e.code, ERR_CONFLICT);
}

#define T(name) \
	cmocka_unit_test_setup_teardown(name, set_up_branch, tear_down_branch)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_fork_by_pointer_copies_no_event),
		T(a_fork_of_a_fork_reads_through_both),
		T(a_fork_by_copy_stands_by_itself),
		T(a_copy_is_refused_while_a_run_writes),
		T(deleting_a_parent_keeps_its_forks_whole),
		T(a_chain_of_deleted_ancestors_goes_with_its_last_fork),
		T(a_rewind_hides_and_a_restore_brings_back),
		T(a_rewind_to_nothing_starts_anew),
		T(a_fork_can_be_rewound_into_its_parents_part),
		T(a_rewind_past_the_end_is_refused),
		T(roll_ups_follow_what_is_visible),
		T(a_compaction_stands_for_what_came_before),
		T(a_fork_inherits_no_permission),
		T(the_family_is_listed_from_its_root),
		T(a_taken_key_is_no_fork),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
