/* JSON lines out and in: schema/agent/transcript/session_jsonl.h; locators:
 * schema/agent/transcript/locator.h. */
#include "tests/support/agent.h"
#include "tests/support/temp.h"

#include "schema/agent/transcript/branch.h"
#include "schema/agent/transcript/locator.h"
#include "schema/agent/transcript/part.h"
#include "schema/agent/transcript/session_jsonl.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct temp dir;
static struct agent_file file, other;
static struct arena arena;
static struct err e;

static int set_up_session_export(void **state)
{
	(void)state;
	temp_make(&dir);
	test_agent_open(&file, temp_join(&dir, "one.sqlite"));
	test_agent_open(&other, temp_join(&dir, "two.sqlite"));
	return 0;
}

static int tear_down_session_export(void **state)
{
	(void)state;
	test_integrity(&file);
	test_integrity(&other);
	agent_file_close(&file);
	agent_file_close(&other);
	arena_fini(&arena);
	temp_remove(&dir);
	return 0;
}

static int keep_line(const char *text, size_t n, void *ctx, struct err *err)
{
	struct buf *all = ctx;

	(void)err;
	assert_null(memchr(text, '\n', n));
	buf_add(all, text, n);
	return buf_addc(all, '\n');
}

static struct buf export(struct agent_file *f, const char *key,
			 enum history_view view)
{
	struct buf all = BUF_MAX(1 << 20);

	if (session_export_lines(f, key, view, keep_line, &all, &e))
		fail_msg("%s", e.text);
	return all;
}

static int next_line(const char **text, size_t *n, void *ctx, struct err *err)
{
	const char **at = ctx;
	const char *end = strchr(*at, '\n');

	(void)err;
	if (!end)
		return 0;
	*text = *at;
	*n = (size_t)(end - *at);
	*at = end + 1;
	return 1;
}

static int import(struct agent_file *f, const char *key, const char *lines,
		  struct session_import_result *out)
{
	return session_import_lines(f, key, next_line, &lines, out, &e);
}

#define RUN "run_01hf7yat000000000000000001"

/* A session with everything that a session can have. */
static void make_rich(void)
{
	struct usage_new u = {"m", 10, 20, 3, 4, 5};
	struct event_ref ref;
	struct writer w;
	struct part p;

	test_writer_open(&w, &file, "s");
	test_append_message(&w, "a");
	test_append_message(&w, "b");
	assert_int_equal(session_rewind(&file, "s", 1, &e), 0);
	assert_int_equal(
		writer_append(
			&w,
			&(struct event_new){
				.type = "hologram",
				.body = "{ \"n\": 1.50,\n \"big\": "
					"12345678901234567890, \"content\":"
					" \"x\\u00e9\" }",
				.key = "k1",
				.event_id = "foreign-1",
				.at = 1234567890123,
				.usage = &u,
				.parent = WRITER_LEAF},
			&ref, &e),
		0);
	assert_int_equal(part_open(&p, &w, ref.pos,
				   &(struct part_new){.kind = "tool",
						      .name = "bash",
						      .call_id = "c1",
						      .state = "done",
						      .text = "line\nline",
						      .input = "{\"a\":1.10}",
						      .output = "[1,\"two\"]",
						      .meta = "{\"k\":true}"},
				   &e),
			 0);
	part_close(&p);
	assert_int_equal(
		writer_open(&w, &file, "s",
			    &(struct writer_run){.run_id = RUN, .attempt = 2},
			    &e),
		0);
	assert_int_equal(
		writer_append(&w,
			      &(struct event_new){.type = "note",
						  .body = "{\"text\":\"of\"}",
						  .parent = WRITER_LEAF},
			      &ref, &e),
		0);
	assert_int_equal(
		writer_end_run(
			&w,
			&(struct event_new){.type = "run_finished",
					    .body = "{\"outcome\":\"failed\","
						    "\"reason\":\"denied\"}",
					    .parent = WRITER_LEAF},
			"failed", "denied", &ref, &e),
		0);
	test_writer_open(&w, &file, "s");
	test_append_message(&w, "c");
}

static void what_goes_out_comes_back_the_same(void **state)
{
	static const enum history_view views[] = {HISTORY_LOG, HISTORY_PATH};
	struct session_import_result got;

	(void)state;
	make_rich();
	for (size_t i = 0; i < 2; i++) {
		struct buf first = export(&file, "s", views[i]), again;

		if (import(&other, i ? "path" : NULL, first.p, &got))
			fail_msg("%s", e.text);
		assert_int_equal(got.events, i ? 5 : 6);
		again = export(&other, got.key, HISTORY_LOG);
		assert_non_null(strstr(again.p, "\"run\":\"" RUN "\""));
		if (i == 0) /* numbers, ids and keys are the very same */
			assert_string_equal(first.p, again.p);
		buf_fini(&first);
		buf_fini(&again);
	}
	assert_string_equal(test_path(&other, "s"), "a xé ? ? c");
	assert_string_equal(test_log(&other, "s"), "a b xé ? ? c");
	assert_string_equal(test_path(&other, "path"), "a xé ? ? c");
}

static void imported_events_keep_their_ids_beside_the_originals(void **state)
{
	struct session_import_result got;
	struct buf lines;

	(void)state;
	make_rich();
	lines = export(&file, "s", HISTORY_LOG);
	/* the same file: the session's id is taken, so it gets a new one, and
	 * the events carry theirs along */
	assert_int_equal(import(&file, "copy", lines.p, &got), 0);
	assert_null(strstr(lines.p, got.sid));
	struct buf again = export(&file, "copy", HISTORY_LOG);
	assert_string_equal(strchr(lines.p, '\n'), strchr(again.p, '\n'));
	buf_fini(&lines);
	buf_fini(&again);
}

static void a_fork_is_exported_with_its_whole_history(void **state)
{
	struct session_row row;
	struct session_import_result got;
	struct buf lines;
	struct writer w;

	(void)state;
	make_rich();
	assert_int_equal(session_fork(&file,
				      &(struct fork_new){
					      .from = "s", .at = 2, .key = "f"},
				      &row, &arena, &e),
			 0);
	test_writer_open(&w, &file, "f");
	test_append_message(&w, "own");
	lines = export(&file, "f", HISTORY_LOG);
	assert_int_equal(import(&other, NULL, lines.p, &got), 0);
	assert_string_equal(test_path(&other, "f"), "a b own");
	buf_fini(&lines);
}

static void bad_lines_are_named_and_nothing_is_kept(void **state)
{
	static const char head[] = "{\"record\":\"session\",\"key\":\"n\"}\n";
	static const struct {
		const char *lines;
		const char *answer;
	} bad[] = {
		{"", "the input is empty"},
		{"x\n", "line 1"},
		{"{\"record\":\"event\"}\n", "line 1"},
		{"{\"record\":\"session\",\"version\":2}\n", "version 2"},
		{"{\"record\":\"session\",\"key\":\"\"}\n", "empty"},
		{"H{\"record\":\"event\",\"type\":\"m\",\"body\":{}}\n{\n",
		 "line 3"},
		{"H{\"record\":\"event\",\"parent\":7,\"body\":{}}\n",
		 "parent"},
		{"H{\"record\":\"event\",\"seq\":2,\"body\":{}}\n"
		 "{\"record\":\"event\",\"seq\":2,\"body\":{}}\n",
		 "seq"},
		{"H{\"record\":\"event\",\"body\":{},\"parts\":[{\"kind\":"
		 "\"soup\"}]}\n",
		 "line 2"},
		{"H{\"record\":\"event\",\"body\":{},\"parts\":7}\n", "parts"},
		{"H{\"record\":\"event\",\"body\":{},\"run\":\"x\"}\n",
		 "line 2: run"},
	};
	struct session_import_result got;
	int64_t n;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct buf lines = BUF_MAX(4096);

		buf_addf(&lines, "%s%s", bad[i].lines[0] == 'H' ? head : "",
			 bad[i].lines + (bad[i].lines[0] == 'H'));
		assert_int_equal(import(&other, NULL, lines.p, &got), -1);
		assert_non_null(strstr(e.text, bad[i].answer));
		buf_fini(&lines);
	}
	assert_int_equal(sql_script_i64(other.db,
					"SELECT count(*) FROM session", &n, &e),
			 0);
	assert_int_equal(n, 0);
}

static void a_key_in_use_is_not_written_over(void **state)
{
	struct session_import_result got;
	struct buf lines;

	(void)state;
	make_rich();
	lines = export(&file, "s", HISTORY_LOG);
	assert_int_equal(import(&file, NULL, lines.p, &got), -1);
	assert_int_equal(e.code, ERR_CONFLICT);
	buf_fini(&lines);
}

static void locators_come_back_the_same(void **state)
{
	static const char *const keys[] = {"plain",  "a/b",          "100%",
					   "日本 x", "#frag?q",      "s.jsonl",
					   ".jsonl", "x.jsonl.jsonl"};

	(void)state;
	for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
		struct locator in = {.agent = "ada", .seq = (int64_t)i}, out;
		struct buf text = BUF_MAX(4096);

		memcpy(in.session, keys[i], strlen(keys[i]) + 1);
		locator_text(&in, &text);
		assert_int_equal(locator_parse(text.p, &out, &e), 0);
		assert_string_equal(out.session, keys[i]);
		assert_string_equal(out.agent, "ada");
		assert_int_equal(out.seq, i);
		buf_fini(&text);
	}
}

static void a_locator_may_end_like_a_file(void **state)
{
	struct locator out;

	(void)state;
	assert_int_equal(
		locator_parse("sqlite-transcript://ada/s.jsonl#7", &out, &e),
		0);
	assert_string_equal(out.session, "s");
	assert_int_equal(out.seq, 7);
}

static void what_is_no_locator_is_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"file:///x",
		"sqlite-transcript://",
		"sqlite-transcript://a",
		"sqlite-transcript://a/",
		"sqlite-transcript:///s",
		"sqlite-transcript://../s",
		"sqlite-transcript://a/%zz",
		"sqlite-transcript://a/%00",
		"sqlite-transcript://a/%2",
		"sqlite-transcript://a/s#0",
		"sqlite-transcript://a/s#x",
		"sqlite-transcript://a/%0a",
	};
	struct locator out;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		assert_int_equal(locator_parse(bad[i], &out, &e), -1);
		assert_int_equal(e.code, ERR_USAGE);
	}
}

#define T(name)                                                      \
	cmocka_unit_test_setup_teardown(name, set_up_session_export, \
					tear_down_session_export)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(what_goes_out_comes_back_the_same),
		T(imported_events_keep_their_ids_beside_the_originals),
		T(a_fork_is_exported_with_its_whole_history),
		T(bad_lines_are_named_and_nothing_is_kept),
		T(a_key_in_use_is_not_written_over),
		cmocka_unit_test(locators_come_back_the_same),
		cmocka_unit_test(a_locator_may_end_like_a_file),
		cmocka_unit_test(what_is_no_locator_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
