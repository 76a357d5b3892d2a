/* Rows of sessions: schema/agent/transcript/session.h. */
#include "tests/support/agent.h"
#include "tests/support/temp.h"

#include "schema/agent/transcript/session.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct temp dir;
static struct agent_file file;
static struct arena arena;
static struct err e;

static int set_up_session(void **state)
{
	(void)state;
	temp_make(&dir);
	test_agent_open(&file, temp_join(&dir, "agent.sqlite"));
	return 0;
}

static int tear_down_session(void **state)
{
	(void)state;
	agent_file_close(&file);
	arena_fini(&arena);
	temp_remove(&dir);
	return 0;
}

static struct session_row make_session(const char *key)
{
	struct session_row row;

	if (session_ensure(&file, &(struct session_new){.key = key}, &row,
			   &arena, &e) < 0)
		fail_msg("%s", e.text);
	return row;
}

static void a_session_is_made_once(void **state)
{
	struct session_row one = make_session("k"), two;

	(void)state;
	assert_int_equal(session_ensure(&file,
					&(struct session_new){.key = "k"}, &two,
					&arena, &e),
			 0);
	assert_string_equal(one.sid, two.sid);
	assert_int_equal(session_get(&file, one.sid, &two, &arena, &e), 1);
	assert_int_equal(session_get(&file, "none", &two, &arena, &e), 0);
}

static void keys_that_are_not_text_are_refused_by_name(void **state)
{
	static const char *const bad[] = {"", "a\nb", "\x01", "caf\xe9",
					  "del\x7f"};
	struct session_row row;
	char *huge = malloc(10u << 20);

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		assert_int_equal(
			session_ensure(&file,
				       &(struct session_new){.key = bad[i]},
				       &row, &arena, &e),
			-1);
		assert_int_equal(e.code, ERR_USAGE);
		assert_non_null(strstr(e.text, "session key"));
	}
	assert_non_null(huge);
	memset(huge, 'x', 10u << 20);
	huge[(10u << 20) - 1] = '\0';
	assert_int_equal(session_get(&file, huge, &row, &arena, &e), -1);
	assert_non_null(strstr(e.text, "10485759 bytes"));
	free(huge);
	assert_int_equal(
		session_ensure(&file, &(struct session_new){.key = "日本/x y"},
			       &row, &arena, &e),
		1);
}

static void two_patches_of_different_fields_both_land(void **state)
{
	struct agent_file other;
	struct session_row row;

	(void)state;
	make_session("k");
	test_agent_open(&other, temp_join(&dir, "agent.sqlite"));
	assert_int_equal(session_patch(&file, "k",
				       "{\"title\":\"T\",\"meta\":{\"a\":1}}",
				       0, &row, &arena, &e),
			 0);
	assert_int_equal(session_patch(&other, "k",
				       "{\"model\":\"m\",\"meta\":{\"b\":2}}",
				       0, &row, &arena, &e),
			 0);
	agent_file_close(&other);
	assert_int_equal(session_need(&file, "k", &row, &arena, &e), 0);
	assert_string_equal(row.title, "T");
	assert_string_equal(row.model, "m");
	assert_string_equal(row.meta, "{\"a\":1,\"b\":2}");
}

static void members_nobody_knows_survive_in_meta(void **state)
{
	struct session_row row;

	(void)state;
	make_session("k");
	assert_int_equal(
		session_patch(&file, "k",
			      "{\"meta\":{\"x\":{\"big\":12345678901234567890,"
			      "\"y\":[1.50]},\"gone\":1}}",
			      0, &row, &arena, &e),
		0);
	assert_int_equal(session_patch(&file, "k",
				       "{\"meta\":{\"gone\":null,\"z\":true}}",
				       0, &row, &arena, &e),
			 0);
	assert_string_equal(row.meta, "{\"x\":{\"big\":12345678901234567890,"
				      "\"y\":[1.50]},\"z\":true}");
}

static void a_patch_of_an_old_revision_is_a_named_conflict(void **state)
{
	struct session_row row = make_session("k");
	int64_t rev = row.rev;

	(void)state;
	assert_int_equal(session_patch(&file, "k", "{\"title\":\"1\"}", rev,
				       &row, &arena, &e),
			 0);
	assert_int_equal(session_patch(&file, "k", "{\"title\":\"2\"}", rev,
				       &row, &arena, &e),
			 -1);
	assert_int_equal(e.code, ERR_CONFLICT);
	assert_int_equal(session_need(&file, "k", &row, &arena, &e), 0);
	assert_string_equal(row.title, "1");
}

static void bad_patches_change_nothing(void **state)
{
	static const struct {
		const char *patch;
		enum err_code code;
	} bad[] = {
		{"{\"title\":", ERR_INVALID},
		{"[]", ERR_INVALID},
		{"{\"rev\":9}", ERR_INVALID},
		{"{\"title\":1}", ERR_INVALID},
		{"{\"status\":null}", ERR_INVALID},
		{"{\"title\":\"x\",\"status\":\"sleeping\"}", ERR_INVALID},
		{"{\"meta\":[]}", ERR_INVALID},
	};
	struct session_row row;

	(void)state;
	make_session("k");
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		assert_int_equal(session_patch(&file, "k", bad[i].patch, 0,
					       &row, &arena, &e),
				 -1);
		assert_int_equal(e.code, bad[i].code);
	}
	assert_int_equal(session_need(&file, "k", &row, &arena, &e), 0);
	assert_null(row.title);
	assert_int_equal(row.rev, 1);
}

static void pages_of_sessions_neither_skip_nor_repeat(void **state)
{
	struct session_filter f = {.count = 3};
	struct session_item *rows;
	char key[16];
	int n, seen = 0;

	(void)state;
	for (int i = 0; i < 10; i++) {
		snprintf(key, sizeof key, "k%d", i);
		make_session(key);
	}
	while ((n = session_list(&file, &f, &rows, &arena, &e)) > 0) {
		for (int i = 0; i < n; i++, seen++) {
			snprintf(key, sizeof key, "k%d", 9 - seen);
			assert_string_equal(rows[i].key, key);
		}
		f.before = rows[n - 1].id;
		/* rows that move meanwhile do not disturb the walk */
		struct writer w;

		test_writer_open(&w, &file, "k0");
		test_append_message(&w, "busy");
		make_session("newer");
	}
	assert_int_equal(seen, 10);
}

static void archived_and_side_sessions_are_hidden_unless_asked_for(void **state)
{
	struct session_row row;
	struct session_item *rows;

	(void)state;
	make_session("plain");
	make_session("old");
	assert_int_equal(session_patch(&file, "old",
				       "{\"status\":\"archived\"}", 0, &row,
				       &arena, &e),
			 0);
	assert_int_equal(
		session_ensure(&file,
			       &(struct session_new){.key = "side",
						     .is_ephemeral = true,
						     .kind = "task",
						     .source = "cron"},
			       &row, &arena, &e),
		1);
	assert_int_equal(session_list(&file, &(struct session_filter){0}, &rows,
				      &arena, &e),
			 1);
	assert_int_equal(session_list(&file,
				      &(struct session_filter){.all = true},
				      &rows, &arena, &e),
			 3);
	assert_int_equal(
		session_list(&file,
			     &(struct session_filter){.status = "archived"},
			     &rows, &arena, &e),
		1);
	assert_string_equal(rows[0].key, "old");
	assert_int_equal(session_list(&file,
				      &(struct session_filter){.all = true,
							       .source = "cron",
							       .kind = "task"},
				      &rows, &arena, &e),
			 1);
}

static void a_file_of_another_agent_is_refused(void **state)
{
	struct agent_file f;

	(void)state;
	assert_int_equal(agent_file_open(&f, temp_join(&dir, "agent.sqlite"),
					 "bob", 0, &e),
			 -1);
	assert_int_equal(e.code, ERR_CONFLICT);
	assert_non_null(strstr(e.text, "ada"));
}

#define T(name) \
	cmocka_unit_test_setup_teardown(name, set_up_session, tear_down_session)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_session_is_made_once),
		T(keys_that_are_not_text_are_refused_by_name),
		T(two_patches_of_different_fields_both_land),
		T(members_nobody_knows_survive_in_meta),
		T(a_patch_of_an_old_revision_is_a_named_conflict),
		T(bad_patches_change_nothing),
		T(pages_of_sessions_neither_skip_nor_repeat),
		T(archived_and_side_sessions_are_hidden_unless_asked_for),
		T(a_file_of_another_agent_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
