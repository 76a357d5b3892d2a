/*
 * A worker is killed after it wrote its last commit to the log and before it
 * published it. No reader sees the commit, but the next recovery of the log does,
 * unless the file was fenced.
 */
#include "tests/support/agent.h"
#include "tests/support/fault_vfs.h"
#include "tests/support/temp.h"

#include "lib/base/id.h"
#include "schema/agent/transcript/fence.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define KEEP_WAL ((int64_t)1 << 30)

static struct temp dir;
static const char run_id[] = "run_00000000000000000000000001";
static const struct writer_run who = {
	.run_id = run_id, .attempt = 1, .epoch = 1};
static const struct event_new last = {.type = "run_finished",
				      .parent = WRITER_LEAF};

static const char *path(void)
{
	return temp_join(&dir, "agent.sqlite");
}

static int barrier[2];
static pid_t worker;

/* Waits for a byte, then ends the run and dies at the n-th write or sync. */
static void be_the_worker(int n)
{
	struct agent_file f;
	struct event_ref ref;
	struct writer w;
	struct err e;
	char byte;

	if (read(barrier[0], &byte, 1) != 1 ||
	    agent_file_open(&f, path(), NULL, 0, &e) ||
	    writer_open(&w, &f, "s", &who, &e))
		_exit(3);
	fault_arm(n, FAULT_DIE);
	_exit(writer_end_run(&w, &last, "succeeded", "completed", &ref, &e)
		      ? 4
		      : 0);
}

/* The worker is forked before SQLite has anything open, and works while we have
 * the file open. n 0: none. */
static void begin_with_worker(struct agent_file *f, int n)
{
	struct writer w;
	struct err e;

	temp_make(&dir);
	assert_int_equal(pipe(barrier), 0);
	worker = n ? fork() : -1;
	if (worker == 0)
		be_the_worker(n);
	test_agent_open(f, path());
	assert_int_equal(writer_open(&w, f, "s", &who, &e), 0);
}

/* Whether the worker died before its end was committed. */
static bool let_it_die(void)
{
	int status;

	assert_int_equal(write(barrier[1], "x", 1), 1);
	assert_int_equal(waitpid(worker, &status, 0), worker);
	assert_true(WIFEXITED(status));
	assert_true(WEXITSTATUS(status) == 0 ||
		    WEXITSTATUS(status) == FAULT_DIED);
	return WEXITSTATUS(status) == FAULT_DIED;
}

/* Closes without copying the log, as a worker does, so that the next one to
 * open recovers it. */
static void reopen(struct agent_file *f)
{
	sql_keep_wal(f->db, KEEP_WAL);
	agent_file_close(f);
	test_agent_open(f, path());
}

static bool is_ended(struct agent_file *f)
{
	return test_number(f, "SELECT status = 'succeeded' FROM run") == 1;
}

static void end_with_worker(struct agent_file *f)
{
	test_integrity(f);
	agent_file_close(f);
	close(barrier[0]);
	close(barrier[1]);
	temp_remove(&dir);
}

static void a_commit_in_flight_lands_without_a_fence(void **state)
{
	bool landed = false, more = true;

	(void)state;
	for (int n = 1; more; n++) {
		struct agent_file f;
		bool before;

		begin_with_worker(&f, n);
		more = let_it_die();
		before = is_ended(&f);
		reopen(&f);
		landed = landed || (more && !before && is_ended(&f));
		end_with_worker(&f);
	}
	assert_true(landed); /* else the test below proves nothing */
}

static void what_a_fence_has_read_stays_so(void **state)
{
	bool more = true;

	(void)state;
	for (int n = 1; more; n++) {
		struct run_ending is, again;
		struct agent_file f;
		struct err e;

		begin_with_worker(&f, n);
		more = let_it_die();
		assert_int_equal(run_fence(&f, run_id, 1, &is, &e), 0);
		assert_true(is.began);
		assert_int_equal(is.ended, !more);
		reopen(&f);
		assert_int_equal(is_ended(&f), is.ended);
		assert_int_equal(run_fence(&f, run_id, 1, &again, &e), 0);
		assert_int_equal(again.ended, is.ended);
		assert_int_equal(again.last_seq, is.last_seq);
		end_with_worker(&f);
	}
}

static void an_abandoned_attempt_takes_nothing_more(void **state)
{
	struct writer_run next = {.run_id = run_id, .attempt = 2, .epoch = 1};
	struct run_ending is;
	struct agent_file f;
	struct event_ref ref;
	struct writer w;
	struct err e;

	(void)state;
	begin_with_worker(&f, 0);
	assert_int_equal(writer_open(&w, &f, "s", &who, &e), 0);
	assert_int_equal(run_fence(&f, run_id, 1, &is, &e), 0);
	assert_false(is.ended);
	assert_int_equal(is.last_seq, 0);
	assert_int_equal(run_abandon(&f, run_id, "worker_died", &e), 0);
	assert_int_equal(writer_append(&w, &last, &ref, &e), -1);
	assert_int_equal(e.code, ERR_STALE);
	/* a supervisor that dies here reads the same again */
	assert_int_equal(run_fence(&f, run_id, 1, &is, &e), 0);
	assert_true(is.began && !is.ended);
	assert_int_equal(run_abandon(&f, run_id, "worker_died", &e), 0);
	assert_int_equal(writer_open(&w, &f, "s", &next, &e), 0);
	assert_int_equal(writer_end_run(&w, &last, "failed", "x", &ref, &e), 0);
	assert_int_equal(run_fence(&f, run_id, 1, &is, &e), 0);
	assert_false(is.began); /* of the former attempt nothing is known */
	assert_int_equal(run_fence(&f, run_id, 2, &is, &e), 0);
	assert_true(is.ended);
	assert_string_equal(is.status, "failed");
	assert_int_equal(is.last_seq, 1);
	end_with_worker(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_commit_in_flight_lands_without_a_fence),
		cmocka_unit_test(what_a_fence_has_read_stays_so),
		cmocka_unit_test(an_abandoned_attempt_takes_nothing_more),
	};

	fault_vfs_install();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
