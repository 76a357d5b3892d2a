/* Parts that grow: schema/agent/transcript/part.h; and following them:
 * schema/agent/watch.h. */
#include "tests/support/agent.h"
#include "tests/support/temp.h"

#include "lib/base/clock.h"
#include "lib/json/json_write.h"
#include "schema/agent/transcript/history.h"
#include "schema/agent/transcript/part.h"
#include "schema/agent/watch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct temp dir;
static struct agent_file file;
static struct writer writer;
static struct arena arena;
static struct err e;
static int64_t pos;

static int set_up_part(void **state)
{
	(void)state;
	temp_make(&dir);
	test_agent_open(&file, temp_join(&dir, "agent.sqlite"));
	test_writer_open(&writer, &file, "s");
	pos = event_pos(writer.session, test_append_message(&writer, "m"));
	return 0;
}

static int tear_down_part(void **state)
{
	(void)state;
	test_integrity(&file);
	agent_file_close(&file);
	arena_fini(&arena);
	temp_remove(&dir);
	return 0;
}

static struct part_row *parts(struct agent_file *f, int expected)
{
	struct part_row *rows;

	assert_int_equal(part_read(f, pos, &rows, &arena, &e), expected);
	return rows;
}

static void a_second_reader_sees_text_grow(void **state)
{
	struct agent_file reader;
	struct part p;

	(void)state;
	test_agent_open(&reader, temp_join(&dir, "agent.sqlite"));
	assert_int_equal(part_open(&p, &writer, pos,
				   &(struct part_new){.kind = "text"}, &e),
			 0);
	assert_int_not_equal(part_add(&p, "Hello", 5, &e), -1);
	assert_int_equal(part_flush(&p, &e), 0);
	assert_string_equal(parts(&reader, 1)[0].text, "Hello");
	assert_int_equal(p.acked, 5);
	assert_int_not_equal(part_add(&p, ", you", 5, &e), -1);
	assert_int_equal(
		part_set(&p, &(struct part_change_new){.state = "done"}, &e),
		0);
	assert_string_equal(parts(&reader, 1)[0].text, "Hello, you");
	assert_string_equal(parts(&reader, 1)[0].state, "done");
	part_close(&p);
	agent_file_close(&reader);
}

static void chunks_are_written_together(void **state)
{
	uint64_t before;
	struct part p;
	char chunk[100];

	(void)state;
	memset(chunk, 'x', sizeof chunk);
	assert_int_equal(part_open(&p, &writer, pos,
				   &(struct part_new){.kind = "text"}, &e),
			 0);
	before = sql_commits(file.db);
	for (int i = 0; i < 1000; i++)
		assert_int_not_equal(part_add(&p, chunk, sizeof chunk, &e), -1);
	assert_int_equal(part_flush(&p, &e), 0);
	assert_in_range(sql_commits(file.db) - before, 1, 1000 * 100 / 4096);
	assert_int_equal(strlen(parts(&file, 1)[0].text), 100000);
	part_close(&p);
}

/* Adds characters of one to four bytes until the text has n bytes. */
static void add_random(struct part *p, struct buf *sum, size_t n)
{
	static const char *const chars[] = {"a", "\303\251", "\342\202\254",
					    "\360\237\230\200"};

	while (sum->n < n) {
		struct buf chunk = BUF_MAX(1 << 16);

		for (int i = rand() % 3000; i >= 0; i--)
			buf_adds(&chunk, chars[rand() % 4]);
		buf_add(sum, chunk.p, chunk.n);
		assert_int_not_equal(part_add(p, chunk.p, chunk.n, &e), -1);
		if (rand() % 2)
			assert_int_equal(part_flush(p, &e), 0);
		buf_fini(&chunk);
	}
	assert_int_equal(part_flush(p, &e), 0);
}

static void a_long_part_is_whole_while_it_grows_and_after(void **state)
{
	static const char *const ends[] = {"done", "error", "aborted"};
	int64_t rev;

	(void)state;
	srand(11);
	for (int i = 0; i < 3; i++) {
		struct buf sum = BUF_MAX(1 << 20);
		struct part_row row;
		struct part p;

		assert_int_equal(part_open(&p, &writer, pos,
					   &(struct part_new){.kind = "text"},
					   &e),
				 0);
		rev = 1;
		for (size_t n = 4000; n < 200000; n *= 3) {
			add_random(&p, &sum, n);
			row = parts(&file, i + 1)[i];
			assert_string_equal(row.text, sum.p);
			assert_true(row.rev > rev);
			assert_int_equal(p.acked, sum.n);
			rev = row.rev;
		}
		assert_true(test_number(&file,
					"SELECT count(*) FROM part_chunk") > 9);
		if (i < 2)
			assert_int_equal(part_set(&p,
						  &(struct part_change_new){
							  .state = ends[i]},
						  &e),
					 0);
		else
			assert_int_equal(part_abort_open(&writer, "died", &e),
					 1);
		row = parts(&file, i + 1)[i];
		assert_string_equal(row.text, sum.p);
		assert_string_equal(row.state, ends[i]);
		assert_true(row.rev > rev);
		assert_int_equal(test_number(&file,
					     "SELECT length(text) - %lld FROM "
					     "part WHERE idx = %d",
					     (long long)test_number(
						     &file,
						     "SELECT length(text) FROM "
						     "parts WHERE idx = %d",
						     i),
					     i),
				 0);
		assert_int_equal(
			test_number(&file, "SELECT count(*) FROM part_chunk"),
			0);
		part_close(&p);
		buf_fini(&sum);
	}
}

static void a_tool_call_is_one_row_through_all_its_states(void **state)
{
	static const char *const states[] = {"input", "running", "done"};
	struct part_row row;
	struct part p;

	(void)state;
	assert_int_equal(part_open(&p, &writer, pos,
				   &(struct part_new){.kind = "tool",
						      .name = "bash",
						      .call_id = "c1"},
				   &e),
			 0);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(
			part_set(&p,
				 &(struct part_change_new){
					 .state = states[i],
					 .input = i == 0 ? "{\"cmd\":\"ls\"}"
							 : NULL,
					 .output = i == 2 ? "\"a b\"" : NULL},
				 &e),
			0);
	row = parts(&file, 1)[0];
	assert_string_equal(row.state, "done");
	assert_string_equal(row.input, "{\"cmd\":\"ls\"}");
	assert_string_equal(row.output, "\"a b\"");
	assert_int_equal(row.rev, 4);
	assert_int_equal(
		part_set(&p, &(struct part_change_new){.state = "running"}, &e),
		-1);
	assert_int_equal(e.code, ERR_CONFLICT);
	part_close(&p);
}

static void what_a_dead_worker_left_open_is_closed_once(void **state)
{
	struct part tool, asks, text;

	(void)state;
	assert_int_equal(
		part_open(
			&tool, &writer, pos,
			&(struct part_new){.kind = "tool", .state = "running"},
			&e) ||
			part_open(&asks, &writer, pos,
				  &(struct part_new){.kind = "tool",
						     .state = "awaiting"},
				  &e) ||
			part_open(&text, &writer, pos,
				  &(struct part_new){.kind = "text",
						     .text = "half"},
				  &e),
		0);
	assert_int_equal(part_abort_open(&writer, "worker_died", &e), 2);
	assert_int_equal(part_abort_open(&writer, "worker_died", &e), 0);
	assert_string_equal(parts(&file, 3)[0].state, "aborted");
	assert_string_equal(parts(&file, 3)[0].output,
			    "{\"error\":\"worker_died\"}");
	assert_string_equal(parts(&file, 3)[1].state, "awaiting");
	assert_string_equal(parts(&file, 3)[2].text, "half");
	part_close(&tool);
	part_close(&asks);
	part_close(&text);
}

static void parts_read_as_an_ai_sdk_client_wants_them(void **state)
{
	struct part_row rows[] = {
		{.kind = "text",
		 .state = "done",
		 .text = "hi \"you\"",
		 .meta = "{}"},
		{.kind = "tool",
		 .state = "aborted",
		 .name = "bash",
		 .call_id = "c",
		 .text = "",
		 .input = "{}",
		 .output = "{\"error\":\"x\"}",
		 .meta = "{}"},
		{.kind = "file",
		 .state = "done",
		 .name = "a.png",
		 .text = "",
		 .meta = "{\"mediaType\":\"image/png\",\"url\":\"u\"}"},
	};
	struct buf out = BUF_MAX(65536);

	(void)state;
	json_begin_array(&out);
	part_ui_json(rows, 3, &out);
	json_end_array(&out);
	assert_string_equal(
		out.p,
		"[{\"type\":\"text\",\"text\":\"hi \\\"you\\\"\",\"state\":"
		"\"done\"},{\"type\":\"dynamic-tool\",\"toolName\":\"bash\","
		"\"toolCallId\":\"c\",\"state\":\"output-error\",\"input\":{},"
		"\"errorText\":\"{\\\"error\\\":\\\"x\\\"}\"},"
		"{\"type\":\"file\",\"mediaType\":\"image/png\",\"url\":\"u\","
		"\"filename\":\"a.png\"}]");
	buf_fini(&out);
}

static void text_with_a_nul_is_refused(void **state)
{
	struct part p;

	(void)state;
	assert_int_equal(part_open(&p, &writer, pos,
				   &(struct part_new){.kind = "text"}, &e),
			 0);
	assert_int_equal(part_add(&p, "a\0b", 3, &e), -1);
	assert_int_equal(e.code, ERR_INVALID);
	part_close(&p);
}

static void a_follower_wakes_up_when_another_process_commits(void **state)
{
	int64_t start = clock_mono_ns();
	struct follow f;
	pid_t child;
	int status;

	(void)state;
	assert_int_equal(follow_open(&f, temp_join(&dir, "agent.sqlite"), &e),
			 0);
	follow_drain(&f);
	assert_int_equal(follow_wait(&f, 30, &e), 0); /* no commit */
	child = fork();
	if (child == 0) {
		struct agent_file other;
		struct writer w;

		usleep(50000);
		test_agent_open(&other, temp_join(&dir, "agent.sqlite"));
		test_writer_open(&w, &other, "s");
		test_append_message(&w, "hello");
		_exit(0);
	}
	assert_int_equal(follow_wait(&f, -1, &e), 1); /* without a time-out */
	assert_true(clock_mono_ns() - start >= 50 * 1000000);
	waitpid(child, &status, 0);
	assert_int_equal(status, 0);
	assert_string_equal(test_path(&file, "s"), "m hello");
	follow_close(&f);
}

#define T(name) \
	cmocka_unit_test_setup_teardown(name, set_up_part, tear_down_part)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_second_reader_sees_text_grow),
		T(chunks_are_written_together),
		T(a_long_part_is_whole_while_it_grows_and_after),
		T(a_tool_call_is_one_row_through_all_its_states),
		T(what_a_dead_worker_left_open_is_closed_once),
		T(parts_read_as_an_ai_sdk_client_wants_them),
		T(text_with_a_nul_is_refused),
		T(a_follower_wakes_up_when_another_process_commits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
