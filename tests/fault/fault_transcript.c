/*
 * Every write of a session or transcript is there as a whole or not at all,
 * whichever write, sync or allocation of it fails, and wherever the process
 * dies. The same loop for each operation of the table below.
 */
#include "tests/support/agent.h"
#include "tests/support/fault_vfs.h"
#include "tests/support/temp.h"

#include "lib/os/file.h"
#include "schema/agent/transcript/branch.h"
#include "schema/agent/transcript/part.h"
#include "schema/agent/transcript/session.h"
#include "schema/agent/transcript/session_jsonl.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define FILE_NAME "agent.sqlite"

static struct temp dir;

/* --- the operations ---------------------------------------------------- */

static int append_event(struct agent_file *f, struct err *e)
{
	struct usage_new u = {.input = 1};
	struct outbox_new o = {"d1", "{}", "{}"};
	struct event_ref ref;
	struct writer w;

	return writer_open(&w, f, "s", NULL, e) ||
			       writer_append(
				       &w,
				       &(struct event_new){
					       .type = "message",
					       .body = "{\"content\":\"new\"}",
					       .key = "k",
					       .event_id = "odd",
					       .parent = 1,
					       .usage = &u,
					       .outbox = &o},
				       &ref, e)
		       ? -1
		       : 0;
}

static int append_batch(struct agent_file *f, struct err *e)
{
	struct event_new batch[20];
	struct event_ref refs[20];
	char body[9000];
	struct writer w;

	memset(body, 'x', sizeof body);
	memcpy(body, "{\"content\":\"new", 15);
	memcpy(body + sizeof body - 3, "\"}", 3);
	for (int i = 0; i < 20; i++)
		batch[i] = (struct event_new){
			.type = "message", .body = body, .parent = WRITER_LEAF};
	return writer_open(&w, f, "s", NULL, e) ||
			       writer_append_batch(&w, batch, 20, refs, e)
		       ? -1
		       : 0;
}

static int patch_session(struct agent_file *f, struct err *e)
{
	struct session_row row;
	struct arena a = {0};
	int rc = session_patch(f, "s", "{\"title\":\"new\",\"meta\":{\"a\":2}}",
			       0, &row, &a, e);

	arena_fini(&a);
	return rc;
}

static int fork_with(struct agent_file *f, bool copy, struct err *e)
{
	struct session_row row;
	struct arena a = {0};
	int rc = session_fork(
		f, &(struct fork_new){.from = "s", .key = "new", .copy = copy},
		&row, &a, e);

	arena_fini(&a);
	return rc;
}

static int fork_pointer(struct agent_file *f, struct err *e)
{
	return fork_with(f, false, e);
}

static int fork_copy(struct agent_file *f, struct err *e)
{
	return fork_with(f, true, e);
}

static int rewind_it(struct agent_file *f, struct err *e)
{
	return session_rewind(f, "s", 1, e);
}

static int delete_it(struct agent_file *f, struct err *e)
{
	return session_delete(f, "s", e);
}

static int grow_part(struct agent_file *f, struct err *e)
{
	struct writer w;
	struct part p;
	int rc = writer_open(&w, f, "s", NULL, e);

	if (rc)
		return -1;
	rc = part_open(&p, &w, event_pos(w.session, 1),
		       &(struct part_new){.kind = "tool", .text = "new"}, e) ||
			     part_add(&p, " and more", 9, e) < 0 ||
			     part_set(
				     &p,
				     &(struct part_change_new){.state = "done"},
				     e)
		     ? -1
		     : 0;
	part_close(&p);
	return rc;
}

static int import_lines(const char **text, size_t *n, void *ctx, struct err *e)
{
	static const char *const lines[] = {
		"{\"record\":\"session\",\"key\":\"new\"}",
		"{\"record\":\"event\",\"type\":\"message\",\"body\":{}}",
		"{\"record\":\"event\",\"type\":\"x\",\"id\":\"i\",\"parent\":"
		"0,"
		"\"body\":{},\"parts\":[{\"kind\":\"text\",\"text\":\"t\"}]}",
	};
	size_t *at = ctx;

	(void)e;
	if (*at == 3)
		return 0;
	*text = lines[*at];
	*n = strlen(lines[(*at)++]);
	return 1;
}

static int import_it(struct agent_file *f, struct err *e)
{
	struct session_import_result out;
	size_t at = 0;

	return session_import_lines(f, NULL, import_lines, &at, &out, e);
}

/* What the file shows of an operation: before it, and after. grow_part is two
 * transactions, or three if the text that was added waited long enough to be
 * written; it may stop in between. */
static const struct operation {
	const char *name;
	int (*run)(struct agent_file *f, struct err *e);
	const char *shows; /* SQL with one text */
	const char *before;
	const char *after;
	const char *between; /* what it begins with, or NULL */
} operations[] = {
	{"append", append_event,
	 "SELECT (SELECT count(*) FROM event)||(SELECT count(*) FROM usage)||"
	 "(SELECT count(*) FROM outbox)||(SELECT count(*) FROM event_extra)||"
	 "(SELECT count(*) FROM event_parent)",
	 "20000", "31111", NULL},
	{"batch", append_batch, "SELECT count(*) FROM event", "2", "22", NULL},
	{"patch", patch_session, "SELECT coalesce(title,'')||meta FROM session",
	 "{\"a\":1}", "new{\"a\":2}", NULL},
	{"fork", fork_pointer,
	 "SELECT count(*)||(SELECT count(*) FROM event) FROM session", "12",
	 "22", NULL},
	{"fork by copy", fork_copy,
	 "SELECT count(*)||(SELECT count(*) FROM event) FROM session", "12",
	 "24", NULL},
	{"rewind", rewind_it,
	 "SELECT coalesce(leaf,'-')||(SELECT count(*) FROM rewind) FROM "
	 "session",
	 "-0", "11", NULL},
	{"delete", delete_it,
	 "SELECT count(*)||(SELECT count(*) FROM event) FROM session", "12",
	 "00", NULL},
	{"part", grow_part,
	 "SELECT coalesce((SELECT state||text FROM part),'')", "",
	 "donenew and more", "streamingnew"},
	{"import", import_it,
	 "SELECT (SELECT count(*) FROM session)||(SELECT count(*) FROM event)||"
	 "(SELECT count(*) FROM part)",
	 "120", "241", NULL},
};

#define NOPERATIONS (sizeof operations / sizeof operations[0])

/* --- the loop ----------------------------------------------------------- */

static void remove_file(void)
{
	static const char *const names[] = {FILE_NAME, FILE_NAME "-wal",
					    FILE_NAME "-shm",
					    FILE_NAME "-journal"};

	for (size_t i = 0; i < 4; i++)
		unlink(temp_join(&dir, names[i]));
}

/* What every try starts from, made once and copied. */
static struct buf template = BUF_MAX(16u << 20);

static void make_template(void)
{
	struct agent_file f;
	struct writer w;
	struct session_row row;
	struct arena a = {0};
	struct err e = {0};

	test_agent_open(&f, temp_join(&dir, FILE_NAME));
	test_writer_open(&w, &f, "s");
	test_append_message(&w, "one");
	test_append_message(&w, "two");
	if (session_patch(&f, "s", "{\"meta\":{\"a\":1}}", 0, &row, &a, &e))
		fail_msg("%s", e.text);
	arena_fini(&a);
	agent_file_close(&f);
	if (file_read(temp_join(&dir, FILE_NAME), &template, &e))
		fail_msg("%s", e.text);
}

static void make_agent_file(void)
{
	struct err e = {0};
	int fd;

	if (template.n == 0)
		make_template();
	remove_file();
	fd = open(temp_join(&dir, FILE_NAME), O_WRONLY | O_CREAT, 0600);
	assert_true(fd >= 0);
	if (file_write_fd(fd, FILE_NAME, template.p, template.n, &e))
		fail_msg("%s", e.text);
	close(fd);
}

/* An operation that was not reported as done may be there all the same, when it
 * failed or died after its commit was written: but as a whole. */
static void assert_shows(const struct operation *op, bool done)
{
	struct agent_file f;
	struct arena a = {0};
	struct err e = {0};
	const char *shown = NULL;
	int64_t gaps = -1;

	test_agent_open(&f, temp_join(&dir, FILE_NAME));
	test_integrity(&f);
	if (sql_script_text(f.db, op->shows, &a, &shown, &e) ||
	    sql_script_i64(f.db,
			   "SELECT count(*) FROM (SELECT max(pos)-min(pos)+1 -"
			   " count(*) AS gap FROM event GROUP BY pos >> 32)"
			   " WHERE gap <> 0",
			   &gaps, &e))
		fail_msg("%s", e.text);
	assert_int_equal(gaps, 0);
	if (done)
		assert_string_equal(shown, op->after);
	else if (strcmp(shown, op->before) != 0 &&
		 !(op->between &&
		   !strncmp(shown, op->between, strlen(op->between))) &&
		 strcmp(shown, op->after) != 0)
		fail_msg("%s: the file shows '%s'", op->name, shown);
	arena_fini(&a);
	agent_file_close(&f);
}

/* One try with the n-th call failing; whether it came to that. */
static bool try_failing(const struct operation *op, enum fault_kind kind,
			int nth)
{
	struct agent_file f;
	struct err e = {0};
	bool fired;
	int rc;

	make_agent_file();
	test_agent_open(&f, temp_join(&dir, FILE_NAME));
	fault_arm(nth, kind);
	rc = op->run(&f, &e);
	fault_disarm();
	fired = fault_fired();
	if (!fired && rc)
		fail_msg("%s: %s", op->name, e.text);
	if (rc)
		assert_in_range(strlen(e.text), 1, sizeof e.text);
	agent_file_close(&f);
	assert_shows(op, rc == 0);
	return fired;
}

static void nothing_is_half_done_when(enum fault_kind kind, const char *what)
{
	for (size_t i = 0; i < NOPERATIONS; i++) {
		int nth = 1, tried = 0;

		/* allocations are many and alike: after the first hundred
		 * every seventh */
		for (; try_failing(&operations[i], kind, nth); tried++)
			nth += kind == FAULT_NOMEM && nth > 100 ? 7 : 1;
		assert_int_not_equal(tried, 0);
		print_message("  %-12s %3d points, %s\n", operations[i].name,
			      tried, what);
	}
}

static void a_failed_write_leaves_nothing_half_done(void **state)
{
	(void)state;
	nothing_is_half_done_when(FAULT_IOERR, "I/O error");
}

static void a_full_disk_leaves_nothing_half_done(void **state)
{
	(void)state;
	nothing_is_half_done_when(FAULT_FULL, "disk full");
}

static void a_torn_write_leaves_nothing_half_done(void **state)
{
	(void)state;
	nothing_is_half_done_when(FAULT_SHORT, "torn write");
}

static void a_failed_allocation_leaves_nothing_half_done(void **state)
{
	(void)state;
	nothing_is_half_done_when(FAULT_NOMEM, "no memory");
}

/* In a child that dies at its n-th write; its exit status. */
static int try_dying(const struct operation *op, int nth)
{
	int status;
	pid_t child;

	make_agent_file();
	child = fork();
	if (child == 0) {
		struct agent_file f;
		struct err e = {0};

		if (agent_file_open(&f, temp_join(&dir, FILE_NAME), "ada", 0,
				    &e))
			_exit(1);
		fault_arm(nth, FAULT_DIE);
		_exit(op->run(&f, &e) ? 2 : 0);
	}
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void death_at_any_write_leaves_all_or_nothing(void **state)
{
	(void)state;
	for (size_t i = 0; i < NOPERATIONS; i++) {
		int nth = 0, status;

		do {
			status = try_dying(&operations[i], ++nth);
			assert_shows(&operations[i], status == 0);
		} while (status == FAULT_DIED);
		assert_int_equal(status, 0);
		assert_int_not_equal(nth, 1);
		print_message("  %-12s %3d deaths\n", operations[i].name,
			      nth - 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_failed_write_leaves_nothing_half_done),
		cmocka_unit_test(a_full_disk_leaves_nothing_half_done),
		cmocka_unit_test(a_torn_write_leaves_nothing_half_done),
		cmocka_unit_test(a_failed_allocation_leaves_nothing_half_done),
		cmocka_unit_test(death_at_any_write_leaves_all_or_nothing),
	};
	int bad;

	fault_malloc_install();
	fault_vfs_install();
	temp_make(&dir);
	bad = cmocka_run_group_tests(tests, NULL, NULL);
	temp_remove(&dir);
	buf_fini(&template);
	return bad;
}
