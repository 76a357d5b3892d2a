/*
 * SQLite's WAL-reset race with real processes and the library that is linked: a
 * writer that resets the log beside checkpoints. First PASSIVE checkpoints, which
 * may show the race, then those of skep, which must not. Opt-in: SKEP_WAL_RACE is
 * the number of seconds for each part. test_wal has the race step by step.
 */
#include "tests/support/temp.h"
#include "tests/support/wal.h"

#include "lib/base/clock.h"
#include "lib/db/checkpoint.h"
#include "lib/db/internal.h"

#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define WAIT_MS   30000
#define PROCESSES 3
#define SPINS     2000

static struct temp dir;
static char path[PATH_MAX];
static int seconds;

static struct counts {
	_Atomic int64_t commits;
	_Atomic int64_t checkpoints;
	_Atomic int64_t resets; /* the log had become shorter */
	_Atomic int64_t wrong;  /* more frames marked as copied than written */
	_Atomic bool stop;
	_Atomic bool failed; /* a call that must not fail did */
} * counts;

static void fail_process(const char *what, const char *why)
{
	fprintf(stderr, "%s: %s\n", what, why);
	counts->failed = true;
	counts->stop = true;
	_exit(1);
}

/* As another program would open it. */
static sqlite3 *open_stock(void)
{
	sqlite3 *db = NULL;

	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, "unix") ||
	    sqlite3_busy_timeout(db, WAIT_MS) ||
	    sqlite3_exec(db,
			 "PRAGMA wal_autocheckpoint=0;"
			 "PRAGMA synchronous=NORMAL; SELECT count(*) FROM t",
			 NULL, NULL, NULL))
		fail_process("open", db ? sqlite3_errmsg(db) : "no memory");
	return db;
}

static struct sql *open_ours(void)
{
	struct sql *db;
	struct err e;

	if (sql_open(&db, path, NULL, 0, &e))
		fail_process("open", e.text);
	return db;
}

static void run_sql(sqlite3 *db, const char *text)
{
	if (sqlite3_exec(db, text, NULL, NULL, NULL))
		fail_process(text, sqlite3_errmsg(db));
}

/* A log that was copied is reset by the next commit. */
static void wait_for_copy(sqlite3 *db)
{
	struct wal_index at = wal_index(db);

	for (int i = 0; i < SPINS && at.copied != at.last; i++) {
		sched_yield();
		at = wal_index(db);
	}
}

/* Looks at the index while it has the write lock, when both numbers stand. */
static void commit_and_look(sqlite3 *db, uint32_t *before)
{
	struct wal_index at;

	wait_for_copy(db);
	run_sql(db, "BEGIN IMMEDIATE");
	at = wal_index(db);
	counts->wrong += at.copied > at.last;
	counts->resets += at.last <= *before;
	*before = at.last;
	/* The race is visible if the log was longer before its reset. */
	run_sql(db, counts->commits % 2
			    ? "UPDATE t SET n = n + 1; COMMIT"
			    : "UPDATE t SET n = n + 1;"
			      "UPDATE b SET v = randomblob(40000); COMMIT");
	counts->commits++;
}

static void write_as_other_program(void)
{
	sqlite3 *db = open_stock();
	uint32_t before = 0;

	while (!counts->stop && !counts->wrong)
		commit_and_look(db, &before);
}

static void checkpoint_passively(void)
{
	sqlite3 *db = open_stock();

	while (!counts->stop) {
		int rc = sqlite3_wal_checkpoint_v2(
			db, "main", SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);

		if (rc != SQLITE_OK && rc != SQLITE_BUSY)
			fail_process("checkpoint", sqlite3_errstr(rc));
		counts->checkpoints++;
	}
}

static void checkpoint_as_skep(void)
{
	struct sql *db = open_ours();
	struct sql_checkpoint_result r;
	struct err e;

	for (int i = 0; !counts->stop; i++) {
		if (sql_checkpoint(db, (enum sql_checkpoint)(i % 3), 0, &r, &e))
			fail_process("checkpoint", e.text);
		counts->checkpoints++;
	}
}

static void write_as_skep(void)
{
	struct sql *db = open_ours();
	struct err e;

	sql_checkpoint_at(db, 20);
	for (int i = 0; !counts->stop; i++) {
		if (i % 2 ? sql_enter(db, &e) : sql_enter_relaxed(db, &e))
			fail_process("begin", e.text);
		if (sql_leave(db, sql_script(db, "UPDATE t SET n = n + 1", &e),
			      &e))
			fail_process("commit", e.text);
		counts->commits++;
	}
}

/* --- the test ----------------------------------------------------------------- */

static void make_database(void)
{
	struct err e;
	struct sql *db;

	snprintf(path, sizeof path, "%s/t.sqlite", dir.path);
	if (sql_open(&db, path, NULL, SQL_CREATE, &e) ||
	    sql_script(db,
		       "CREATE TABLE t(n INTEGER); CREATE TABLE b(v BLOB);"
		       "INSERT INTO t VALUES (0);"
		       "INSERT INTO b VALUES (NULL)",
		       &e))
		fail_msg("%s", e.text);
	sql_close(db);
}

static void run_processes(void (*const what[PROCESSES])(void))
{
	int64_t end = clock_mono_ns() + seconds * INT64_C(1000000000);
	pid_t pids[PROCESSES];

	for (int i = 0; i < PROCESSES; i++) {
		pids[i] = fork();
		assert_true(pids[i] >= 0);
		if (pids[i] == 0) {
			alarm((unsigned)seconds + 2 * WAIT_MS / 1000);
			what[i]();
			_exit(0);
		}
	}
	while (clock_mono_ns() < end && !counts->stop && !counts->wrong)
		usleep(10000);
	counts->stop = true;
	for (int i = 0; i < PROCESSES; i++) {
		int status;

		waitpid(pids[i], &status, 0);
		assert_int_equal(status, 0);
	}
	assert_false(counts->failed);
	print_message("SQLite %s: %lld commits, %lld resets, %lld checkpoints, "
		      "the race was %s\n",
		      sql_library(), (long long)counts->commits,
		      (long long)counts->resets, (long long)counts->checkpoints,
		      counts->wrong ? "seen" : "not seen");
}

static void skip_unless_asked(void)
{
	if (seconds > 0)
		return;
	print_message("skipped: set SKEP_WAL_RACE to a number of seconds\n");
	skip();
}

static void passive_checkpoints_of_the_library(void **state)
{
	static void (*const what[PROCESSES])(void) = {write_as_other_program,
						      checkpoint_passively,
						      checkpoint_passively};

	(void)state;
	skip_unless_asked();
	run_processes(what);
	if (!sql_library_resets_unsafely())
		assert_int_equal(counts->wrong, 0);
	else if (!counts->wrong)
		print_message("this SQLite has the defect: allow more time\n");
}

static void checkpoints_of_skep_never_race(void **state)
{
	static void (*const what[PROCESSES])(void) = {
		write_as_other_program, write_as_skep, checkpoint_as_skep};
	char line[PATH_MAX + 64];

	(void)state;
	skip_unless_asked();
	run_processes(what);
	assert_true(counts->resets > 0);
	assert_int_equal(counts->wrong, 0);
	snprintf(line, sizeof line,
		 "test $(sqlite3 %s 'SELECT n FROM t') = %lld", path,
		 (long long)counts->commits);
	assert_int_equal(system(line), 0); /* NOLINT(cert-env33-c) */
}

static int set_up_wal_race(void **state)
{
	(void)state;
	memset(counts, 0, sizeof *counts);
	temp_make(&dir);
	make_database();
	return 0;
}

static int tear_down_wal_race(void **state)
{
	(void)state;
	temp_remove(&dir);
	return 0;
}

#define WITH_FILE(test)                                        \
	cmocka_unit_test_setup_teardown(test, set_up_wal_race, \
					tear_down_wal_race)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_FILE(passive_checkpoints_of_the_library),
		WITH_FILE(checkpoints_of_skep_never_race),
	};
	const char *text = getenv("SKEP_WAL_RACE");

	seconds = text ? (int)strtol(text, NULL, 10) : 0;
	counts = mmap(NULL, sizeof *counts, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (counts == MAP_FAILED)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
