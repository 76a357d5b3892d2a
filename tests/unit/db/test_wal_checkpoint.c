/* When the log is copied into the file, by whom, and what SQLite's race needs. */
#include "tests/support/wal_test.h"

#include "lib/os/file.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <cmocka.h>

static struct err e;

/* --- checkpoints ------------------------------------------------------------ */

static void a_log_that_is_long_is_copied_and_begun_anew(void **state)
{
	(void)state;
	sql_checkpoint_at(wal_ours, 100);
	for (int i = 0; i < 60; i++) {
		wal_enter(wal_ours, i % 2);
		wal_change_rows(wal_ours, 30);
		wal_leave(wal_ours, true);
		assert_true(wal_index(wal_other).last <= 100 + 2 * 30);
	}
	/* SQLite's own checkpoints are off for good */
	assert_int_equal(sql_script_i64(wal_ours, "PRAGMA wal_autocheckpoint",
					&(int64_t){0}, &e),
			 0);
	assert_int_equal(wal_ask(wal_ours->conn, "PRAGMA wal_autocheckpoint"),
			 0);
}

/* One that commits with FULL leaves the queue early; so does its neighbour. */
static void writers_that_wait_for_the_disk_also_copy_it(void **state)
{
	struct sql *second;

	(void)state;
	assert_int_equal(sql_open(&second, wal_path, NULL, 0, &e), 0);
	sql_checkpoint_at(wal_ours, 100);
	sql_checkpoint_at(second, 100);
	for (int i = 0; i < 60; i++) {
		wal_enter(i % 2 ? wal_ours : second, true);
		wal_change_rows(i % 2 ? wal_ours : second, 30);
		wal_leave(i % 2 ? wal_ours : second, true);
		assert_true(wal_index(wal_other).last <= 100 + 4 * 30);
	}
	sql_close(second);
}

static void a_reader_delays_the_reset_and_no_writer(void **state)
{
	uint32_t peak;

	(void)state;
	sql_checkpoint_at(wal_ours, 100);
	wal_send("BEGIN");
	assert_int_equal(wal_ask(wal_other, "SELECT count(*) FROM y"), 0);
	for (int i = 0; i < 30; i++) {
		wal_enter(wal_ours, i % 2);
		wal_change_rows(wal_ours, 20);
		wal_leave(wal_ours, true);
	}
	peak = wal_index(wal_other).last;
	assert_true(peak >= 600); /* it could not be reset */
	assert_true(wal_index(wal_other).copied < peak);
	wal_send("COMMIT");
	for (int i = 0; i < 4; i++) { /* a quarter more, and the next commit */
		wal_enter(wal_ours, i % 2);
		wal_change_rows(wal_ours, 20);
		wal_leave(wal_ours, true);
	}
	assert_true(wal_index(wal_other).last < 100);
}

static void a_writer_in_the_way_makes_it_busy(void **state)
{
	static const enum sql_checkpoint modes[] = {SQL_CHECKPOINT_FULL,
						    SQL_CHECKPOINT_RESTART,
						    SQL_CHECKPOINT_TRUNCATE};
	struct sql_checkpoint_result r;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		uint32_t copied;

		wal_change_rows(wal_ours, 10);
		copied = wal_index(wal_other).copied;
		wal_send("BEGIN IMMEDIATE");
		assert_int_equal(sql_checkpoint(wal_ours, modes[i], 0, &r, &e),
				 0);
		assert_true(r.busy);
		/* SQLite would have copied it, as if PASSIVE */
		assert_int_equal(wal_index(wal_other).copied, copied);
		wal_send("COMMIT");
		assert_int_equal(sql_checkpoint(wal_ours, modes[i], 0, &r, &e),
				 0);
		assert_false(r.busy);
	}
	assert_int_equal(r.log_frames, 0);
}

static void *end_reading(void *arg)
{
	(void)arg;
	usleep(50000);
	wal_send("COMMIT");
	return NULL;
}

static void a_reader_in_the_way_is_waited_for(void **state)
{
	struct sql_checkpoint_result r;
	pthread_t thread;

	(void)state;
	wal_send("BEGIN");
	assert_int_equal(wal_ask(wal_other, "SELECT count(*) FROM y"), 0);
	wal_change_rows(wal_ours, 10);
	assert_int_equal(
		sql_checkpoint(wal_ours, SQL_CHECKPOINT_FULL, 0, &r, &e), 0);
	assert_true(r.busy);
	assert_int_equal(pthread_create(&thread, NULL, end_reading, NULL), 0);
	assert_int_equal(
		sql_checkpoint(wal_ours, SQL_CHECKPOINT_FULL, 60000, &r, &e),
		0);
	assert_false(r.busy);
	pthread_join(thread, NULL);
}

/* A large transaction that waited for the disk has left the queue, and may be the
 * only one of its process. */
static void a_long_log_is_copied_at_the_close(void **state)
{
	struct sql *second;
	struct wal_index at;

	(void)state;
	assert_int_equal(sql_open(&second, wal_path, NULL, 0, &e), 0);
	sql_checkpoint_at(second, 100);
	wal_enter(second, true);
	wal_change_rows(second, 300);
	wal_leave(second, true);
	assert_int_equal(wal_index(wal_other).copied, 0);
	sql_close(second);
	at = wal_index(wal_other);
	assert_true(at.last >= 300);
	assert_int_equal(at.copied, at.last);
}

/* --- the queue ---------------------------------------------------------------- */

/* As another process would be: first in the queue of the directory. */
static int enter_queue(void)
{
	int fd = open(wal_dir.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
	return fd;
}

static void a_checkpoint_is_not_made_out_of_turn(void **state)
{
	struct sql_checkpoint_result r;
	struct wal_index before, after;
	int queue;

	(void)state;
	wal_change_rows(wal_ours, 10);
	before = wal_index(wal_other);
	queue = enter_queue();
	assert_int_equal(
		sql_checkpoint(wal_ours, SQL_CHECKPOINT_FULL, 0, &r, &e), 0);
	assert_true(r.busy);
	after = wal_index(wal_other);
	assert_int_equal(after.copied, before.copied);
	assert_int_equal(after.last, before.last);
	close(queue);
	assert_int_equal(
		sql_checkpoint(wal_ours, SQL_CHECKPOINT_FULL, 0, &r, &e), 0);
	assert_false(r.busy);
	after = wal_index(wal_other);
	assert_int_equal(after.copied, after.last);
}

/* The size of the log that the last connection to a file leaves; -1: none. */
static int64_t log_after_last_close(bool others_queue)
{
	const char *alone = strdup(temp_join(&wal_dir, "alone.sqlite"));
	char log[PATH_MAX];
	struct sql *db;
	int64_t size;
	int queue;

	snprintf(log, sizeof log, "%s-wal", alone);
	assert_int_equal(sql_open(&db, alone, NULL, SQL_CREATE, &e), 0);
	wal_script(db,
		   "CREATE TABLE IF NOT EXISTS t(x); INSERT INTO t VALUES (1)");
	assert_true(file_size(log) > 0);
	queue = others_queue ? enter_queue() : -1;
	sql_close(db);
	size = file_size(log);
	if (queue >= 0)
		close(queue);
	free((void *)(uintptr_t)alone);
	return size;
}

static void the_last_to_close_copies_the_log_in_its_turn(void **state)
{
	(void)state;
	assert_true(log_after_last_close(true) > 0);
	assert_int_equal(log_after_last_close(false), -1);
}

/* --- the race --------------------------------------------------------------- */

/* Calls `meanwhile` in the midst of a checkpoint of the hooked connection. */
static struct {
	const sqlite3_io_methods *real;
	sqlite3_io_methods methods;
	void (*meanwhile)(void);
} hook;

static void interfere(void)
{
	void (*call)(void) = hook.meanwhile;

	hook.meanwhile = NULL;
	if (call)
		call();
}

static int hooked_unfetch(sqlite3_file *f, sqlite3_int64 at, void *p)
{
	interfere();
	return hook.real->xUnfetch(f, at, p);
}

static int hooked_write(sqlite3_file *f, const void *p, int n, sqlite3_int64 at)
{
	interfere(); /* only a checkpoint writes to the database file */
	return hook.real->xWrite(f, p, n, at);
}

/* When the header of the log has been read, or at the first write. */
static void hook_into(sqlite3 *conn, bool at_write)
{
	sqlite3_file *f = NULL;

	sqlite3_file_control(conn, "main", SQLITE_FCNTL_FILE_POINTER, &f);
	hook.real = f->pMethods;
	hook.methods = *f->pMethods;
	if (at_write)
		hook.methods.xWrite = hooked_write;
	else
		hook.methods.xUnfetch = hooked_unfetch;
	f->pMethods = &hook.methods;
}

static void commit_by_other(void)
{
	(void)sqlite3_exec(wal_other, "INSERT INTO y VALUES (NULL)", NULL, NULL,
			   NULL);
}

static int taken;

static void look_at_queue(void)
{
	int fd = open(wal_dir.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	taken += flock(fd, LOCK_EX | LOCK_NB) != 0;
	close(fd);
}

static void the_checkpoint_of_a_commit_is_in_turn(void **state)
{
	int seen = 0;

	(void)state;
	taken = 0;
	hook_into(wal_ours->conn, true);
	sql_checkpoint_at(wal_ours, 100);
	for (int i = 0; i < 60; i++) {
		hook.meanwhile = look_at_queue;
		wal_enter(wal_ours, i / 2 % 2);
		wal_change_rows(wal_ours, 30);
		wal_leave(wal_ours, true);
		seen += !hook.meanwhile;
	}
	hook.meanwhile = NULL;
	assert_true(seen >= 5);
	assert_int_equal(taken, seen);
}

/* SQLite's bug, in the order in which its documentation has it. */
static void a_passive_checkpoint_shows_the_race(void **state)
{
	struct wal_index at;

	(void)state;
	hook_into(wal_ours->conn, false);
	wal_send("UPDATE x SET v = randomblob(3500) WHERE i <= 60");
	assert_int_equal(sqlite3_wal_checkpoint_v2(wal_other, "main",
						   SQLITE_CHECKPOINT_PASSIVE,
						   NULL, NULL),
			 SQLITE_OK);
	hook.meanwhile = commit_by_other; /* it resets the log */
	sqlite3_wal_checkpoint_v2(wal_ours->conn, "main",
				  SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
	assert_null(hook.meanwhile);
	assert_int_equal(wal_ask(wal_other, "SELECT count(*) FROM y"), 1);
	at = wal_index(wal_other);
	if (sql_library_resets_unsafely())
		assert_true(at.copied > at.last);
	else
		assert_true(at.copied <= at.last);
}

static void our_checkpoint_excludes_it(void **state)
{
	static const enum sql_checkpoint modes[] = {SQL_CHECKPOINT_FULL,
						    SQL_CHECKPOINT_RESTART,
						    SQL_CHECKPOINT_TRUNCATE};
	struct sql_checkpoint_result r;

	(void)state;
	sqlite3_busy_timeout(wal_other, 0);
	hook_into(wal_ours->conn, false);
	for (int i = 0; i < 30; i++) {
		wal_send("UPDATE x SET v = randomblob(3500) WHERE i <= 60");
		if (i % 2) /* all of the log has been copied */
			assert_int_equal(sql_checkpoint(wal_ours, modes[i % 3],
							0, &r, &e),
					 0);
		hook.meanwhile = commit_by_other;
		assert_int_equal(
			sql_checkpoint(wal_ours, modes[i % 3], 0, &r, &e), 0);
		hook.meanwhile = NULL;
		assert_null(wal_check(wal_other, wal_path, &(struct wal){0}));
	}
	sqlite3_close(wal_crash());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_FILE(a_log_that_is_long_is_copied_and_begun_anew),
		WITH_FILE(writers_that_wait_for_the_disk_also_copy_it),
		WITH_FILE(a_reader_delays_the_reset_and_no_writer),
		WITH_FILE(a_writer_in_the_way_makes_it_busy),
		WITH_FILE(a_reader_in_the_way_is_waited_for),
		WITH_FILE(a_long_log_is_copied_at_the_close),
		WITH_FILE(a_checkpoint_is_not_made_out_of_turn),
		WITH_FILE(the_last_to_close_copies_the_log_in_its_turn),
		WITH_FILE(the_checkpoint_of_a_commit_is_in_turn),
		WITH_FILE(a_passive_checkpoint_shows_the_race),
		WITH_FILE(our_checkpoint_excludes_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
