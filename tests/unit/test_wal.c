/* What is in the log when a transaction ends, and what a crash leaves of it. A
 * connection of SQLite's own, as another program would have, and a reader of the
 * format (tests/support/wal.h) look on. */
#include "tests/support/temp.h"
#include "tests/support/wal.h"

#include "base/file.h"
#include "base/held.h"
#include "db/checkpoint.h"
#include "db/sql_conn.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define FRAMES_MAX 400

static struct temp dir;
static const char *path;
static struct err e;
static struct sql *ours;
static sqlite3 *other;

static void script(struct sql *db, const char *text)
{
	if (sql_script(db, text, &e))
		fail_msg("%s: %s", text, e.text);
}

static void say(const char *text)
{
	if (sqlite3_exec(other, text, NULL, NULL, NULL))
		fail_msg("%s: %s", text, sqlite3_errmsg(other));
}

static int64_t ask(sqlite3 *db, const char *text)
{
	sqlite3_stmt *st = NULL;
	int64_t v;

	if (sqlite3_prepare_v2(db, text, -1, &st, NULL) ||
	    sqlite3_step(st) != SQLITE_ROW)
		fail_msg("%s: %s", text, sqlite3_errmsg(db));
	v = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return v;
}

/* Table x: FRAMES_MAX rows of a page each. Table y: what is counted. */
static int begin(void **state)
{
	struct sql_checkpoint_result r;

	(void)state;
	temp_make(&dir);
	path = strdup(temp_join(&dir, "t.sqlite"));
	if (sql_open(&ours, path, NULL, SQL_CREATE, &e))
		fail_msg("%s", e.text);
	script(ours, "CREATE TABLE x(i INTEGER PRIMARY KEY, v BLOB);"
		     "CREATE TABLE y(i INTEGER PRIMARY KEY);"
		     "INSERT INTO x WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL "
		     "SELECT n + 1 FROM c WHERE n < 400) "
		     "SELECT n, zeroblob(3500) FROM c");
	assert_int_equal(
		sql_checkpoint(ours, SQL_CHECKPOINT_TRUNCATE, 0, &r, &e), 0);
	assert_int_equal(
		sqlite3_open_v2(path, &other, SQLITE_OPEN_READWRITE, "unix"),
		SQLITE_OK);
	say("PRAGMA wal_autocheckpoint=0; PRAGMA busy_timeout=5000");
	assert_int_equal(ask(other, "SELECT count(*) FROM x"), FRAMES_MAX);
	return 0;
}

static int end(void **state)
{
	(void)state;
	sqlite3_close(other);
	sql_close(ours);
	free((void *)(uintptr_t)path);
	temp_remove(&dir);
	return 0;
}

static void change_rows(struct sql *db, int rows)
{
	char text[128];

	snprintf(text, sizeof text,
		 "UPDATE x SET v = randomblob(3500) WHERE i <= %d", rows);
	script(db, text);
}

static void enter(struct sql *db, bool full)
{
	assert_int_equal(full ? sql_enter(db, &e) : sql_enter_relaxed(db, &e),
			 0);
}

static void leave(struct sql *db, bool keep)
{
	assert_int_equal(sql_leave(db, keep ? 0 : -1, &e), keep ? 0 : -1);
}

/* --- commits ---------------------------------------------------------------- */

static void a_commit_is_complete_when_it_returns(void **state)
{
	struct wal w = {0};

	(void)state;
	sql_checkpoint_at(ours, 1000);
	for (int f = 1; f <= FRAMES_MAX; f++) {
		uint32_t before = wal_index(other).last, after;

		enter(ours, f % 8 == 0);
		change_rows(ours, f);
		leave(ours, true);
		after = wal_index(other).last;
		/* the log goes on, or has begun anew */
		assert_true(after == before + (uint32_t)f ||
			    after == (uint32_t)f);
		assert_true(wal_read(path, after, &w));
		if (w.frames != after || w.commit != after)
			fail_msg("%d frames: %u of %u are in the log", f,
				 w.frames, after);
	}
	assert_null(wal_check(other, path, &(struct wal){0}));
}

/* --- crashes ---------------------------------------------------------------- */

/* What all processes would find after a crash: the file and its log, without the
 * index. Copied by another process, since closing a descriptor of the file would
 * take our locks. */
static sqlite3 *crash(void)
{
	char line[PATH_MAX], copy[PATH_MAX];
	sqlite3 *db;

	snprintf(copy, sizeof copy, "%s/copy.sqlite", dir.path);
	snprintf(line, sizeof line,
		 "cd %s && rm -f copy.* && cp t.sqlite copy.sqlite && "
		 "cp t.sqlite-wal copy.sqlite-wal",
		 dir.path);
	assert_int_equal(system(line), 0); /* NOLINT(cert-env33-c) */
	assert_int_equal(
		sqlite3_open_v2(copy, &db, SQLITE_OPEN_READWRITE, "unix"),
		SQLITE_OK);
	assert_int_equal(ask(db, "SELECT integrity_check = 'ok' FROM "
				 "pragma_integrity_check"),
			 1);
	return db;
}

static void spill(struct sql *db)
{
	change_rows(db, FRAMES_MAX);
	change_rows(db, 4); /* again, though they are in the log already */
}

static void a_commit_after_a_spill_survives_a_crash(void **state)
{
	sqlite3 *copy;

	(void)state;
	assert_int_equal(sql_cache(ours, 200, &e), 0);
	for (int i = 0; i < 4; i++) {
		char text[64];

		enter(ours, i % 2);
		spill(ours);
		snprintf(text, sizeof text, "INSERT INTO y VALUES (%d)", i);
		script(ours, text);
		leave(ours, true);
		assert_null(wal_check(other, path, &(struct wal){0}));
		snprintf(text, sizeof text, "INSERT INTO y VALUES (%d)",
			 i + 100);
		say(text);
		assert_null(wal_check(other, path, &(struct wal){0}));
	}
	copy = crash();
	assert_int_equal(ask(copy, "SELECT count(*) FROM y"), 8);
	sqlite3_close(copy);
}

static void a_rollback_never_harms_another_commit(void **state)
{
	sqlite3 *copy;

	(void)state;
	assert_int_equal(sql_cache(ours, 40, &e), 0);
	for (int i = 0; i < 10; i++) {
		char text[64];

		enter(ours, i % 2);
		change_rows(ours, 15 + 10 * i);
		leave(ours, false);
		assert_null(wal_check(other, path, &(struct wal){0}));
		snprintf(text, sizeof text, "INSERT INTO y VALUES (%d)", i);
		say(text);
		assert_null(wal_check(other, path, &(struct wal){0}));
		script(ours, "SELECT count(*) FROM y"); /* from the log */
		assert_null(wal_check(other, path, &(struct wal){0}));
	}
	copy = crash();
	assert_int_equal(ask(copy, "SELECT count(*) FROM y"), 10);
	assert_int_equal(ask(copy, "SELECT max(v <> zeroblob(3500)) FROM x"),
			 0);
	sqlite3_close(copy);
}

/* --- checkpoints ------------------------------------------------------------ */

static void a_log_that_is_long_is_copied_and_begun_anew(void **state)
{
	(void)state;
	sql_checkpoint_at(ours, 100);
	for (int i = 0; i < 60; i++) {
		enter(ours, i % 2);
		change_rows(ours, 30);
		leave(ours, true);
		assert_true(wal_index(other).last <= 100 + 2 * 30);
	}
	/* SQLite's own checkpoints are off for good */
	assert_int_equal(sql_script_i64(ours, "PRAGMA wal_autocheckpoint",
					&(int64_t){0}, &e),
			 0);
	assert_int_equal(ask(ours->conn, "PRAGMA wal_autocheckpoint"), 0);
}

/* One that commits with FULL leaves the queue early; so does its neighbour. */
static void writers_that_wait_for_the_disk_also_copy_it(void **state)
{
	struct sql *second;

	(void)state;
	assert_int_equal(sql_open(&second, path, NULL, 0, &e), 0);
	sql_checkpoint_at(ours, 100);
	sql_checkpoint_at(second, 100);
	for (int i = 0; i < 60; i++) {
		enter(i % 2 ? ours : second, true);
		change_rows(i % 2 ? ours : second, 30);
		leave(i % 2 ? ours : second, true);
		assert_true(wal_index(other).last <= 100 + 4 * 30);
	}
	sql_close(second);
}

static void a_reader_delays_the_reset_and_no_writer(void **state)
{
	uint32_t peak;

	(void)state;
	sql_checkpoint_at(ours, 100);
	say("BEGIN");
	assert_int_equal(ask(other, "SELECT count(*) FROM y"), 0);
	for (int i = 0; i < 30; i++) {
		enter(ours, i % 2);
		change_rows(ours, 20);
		leave(ours, true);
	}
	peak = wal_index(other).last;
	assert_true(peak >= 600); /* it could not be reset */
	assert_true(wal_index(other).copied < peak);
	say("COMMIT");
	for (int i = 0; i < 4; i++) { /* a quarter more, and the next commit */
		enter(ours, i % 2);
		change_rows(ours, 20);
		leave(ours, true);
	}
	assert_true(wal_index(other).last < 100);
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

		change_rows(ours, 10);
		copied = wal_index(other).copied;
		say("BEGIN IMMEDIATE");
		assert_int_equal(sql_checkpoint(ours, modes[i], 0, &r, &e), 0);
		assert_true(r.busy);
		/* SQLite would have copied it, as if PASSIVE */
		assert_int_equal(wal_index(other).copied, copied);
		say("COMMIT");
		assert_int_equal(sql_checkpoint(ours, modes[i], 0, &r, &e), 0);
		assert_false(r.busy);
	}
	assert_int_equal(r.log_frames, 0);
}

/* --- the queue ---------------------------------------------------------------- */

/* As another process would be: first in the queue of the directory. */
static int enter_queue(void)
{
	int fd = open(dir.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

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
	change_rows(ours, 10);
	before = wal_index(other);
	queue = enter_queue();
	assert_int_equal(sql_checkpoint(ours, SQL_CHECKPOINT_FULL, 0, &r, &e),
			 0);
	assert_true(r.busy);
	after = wal_index(other);
	assert_int_equal(after.copied, before.copied);
	assert_int_equal(after.last, before.last);
	close(queue);
	assert_int_equal(sql_checkpoint(ours, SQL_CHECKPOINT_FULL, 0, &r, &e),
			 0);
	assert_false(r.busy);
	after = wal_index(other);
	assert_int_equal(after.copied, after.last);
}

/* The size of the log that the last connection to a file leaves; -1: none. */
static int64_t log_after_last_close(bool others_queue)
{
	const char *alone = strdup(temp_join(&dir, "alone.sqlite"));
	char log[PATH_MAX];
	struct sql *db;
	int64_t size;
	int queue;

	snprintf(log, sizeof log, "%s-wal", alone);
	assert_int_equal(sql_open(&db, alone, NULL, SQL_CREATE, &e), 0);
	script(db, "CREATE TABLE IF NOT EXISTS t(x); INSERT INTO t VALUES (1)");
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
	interfere(); /* the header of the log has been read */
	return hook.real->xUnfetch(f, at, p);
}

static void hook_into(sqlite3 *conn)
{
	sqlite3_file *f = NULL;

	sqlite3_file_control(conn, "main", SQLITE_FCNTL_FILE_POINTER, &f);
	hook.real = f->pMethods;
	hook.methods = *f->pMethods;
	hook.methods.xUnfetch = hooked_unfetch;
	f->pMethods = &hook.methods;
}

static void commit_by_other(void)
{
	(void)sqlite3_exec(other, "INSERT INTO y VALUES (NULL)", NULL, NULL,
			   NULL);
}

/* SQLite's bug, in the order in which its documentation has it. */
static void a_passive_checkpoint_shows_the_race(void **state)
{
	struct wal_index at;

	(void)state;
	hook_into(ours->conn);
	say("UPDATE x SET v = randomblob(3500) WHERE i <= 60");
	assert_int_equal(sqlite3_wal_checkpoint_v2(other, "main",
						   SQLITE_CHECKPOINT_PASSIVE,
						   NULL, NULL),
			 SQLITE_OK);
	hook.meanwhile = commit_by_other; /* it resets the log */
	sqlite3_wal_checkpoint_v2(ours->conn, "main", SQLITE_CHECKPOINT_PASSIVE,
				  NULL, NULL);
	assert_null(hook.meanwhile);
	assert_int_equal(ask(other, "SELECT count(*) FROM y"), 1);
	at = wal_index(other);
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
	sqlite3_busy_timeout(other, 0);
	hook_into(ours->conn);
	for (int i = 0; i < 30; i++) {
		say("UPDATE x SET v = randomblob(3500) WHERE i <= 60");
		if (i % 2) /* all of the log has been copied */
			assert_int_equal(
				sql_checkpoint(ours, modes[i % 3], 0, &r, &e),
				0);
		hook.meanwhile = commit_by_other;
		assert_int_equal(sql_checkpoint(ours, modes[i % 3], 0, &r, &e),
				 0);
		hook.meanwhile = NULL;
		assert_null(wal_check(other, path, &(struct wal){0}));
	}
	sqlite3_close(crash());
}

/* --- files that are lost ------------------------------------------------------ */

static void expect_moved(const char *suffix)
{
	const char *name = temp_join(&dir, "t.sqlite");
	char words[PATH_MAX];

	snprintf(words, sizeof words, "%s%s was deleted or replaced", name,
		 suffix);
	enter(ours, true);
	change_rows(ours, 1);
	assert_int_equal(sql_leave(ours, 0, &e), -1);
	assert_int_equal(e.code, ERR_MOVED);
	assert_non_null(strstr(e.text, words));
	/* a statement by itself is a commit, too */
	e = (struct err){0};
	assert_int_equal(sql_script(ours, "DELETE FROM x", &e), -1);
	assert_int_equal(e.code, ERR_MOVED);
	assert_int_equal(sql_sync(ours, &e), -1);
	assert_int_equal(e.code, ERR_MOVED);
}

static void a_file_that_is_lost_is_noticed(void **state)
{
	static const char *const suffixes[] = {"", "-wal", "-shm"};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		char here[PATH_MAX], away[PATH_MAX];

		snprintf(here, sizeof here, "%s%s", path, suffixes[i]);
		snprintf(away, sizeof away, "%s/away", dir.path);
		assert_int_equal(rename(here, away), 0); /* deleted */
		expect_moved(suffixes[i]);
		assert_int_equal(mknod(here, S_IFREG | 0600, 0), 0);
		expect_moved(suffixes[i]); /* replaced */
		assert_int_equal(rename(away, here), 0);
		enter(ours, true);
		change_rows(ours, 1);
		leave(ours, true);
	}
	assert_null(wal_check(other, path, &(struct wal){0}));
	assert_int_equal(ask(other, "SELECT count(*) FROM x"), FRAMES_MAX);
}

/* Before the first commit of the connection. */
static void a_log_is_known_from_the_open_on(void **state)
{
	char here[PATH_MAX];
	struct sql *second;

	(void)state;
	assert_int_equal(sql_open(&second, path, NULL, 0, &e), 0);
	snprintf(here, sizeof here, "%s-shm", path);
	assert_int_equal(unlink(here), 0);
	assert_int_equal(mknod(here, S_IFREG | 0600, 0), 0);
	enter(second, true);
	change_rows(second, 1);
	assert_int_equal(sql_leave(second, 0, &e), -1);
	assert_int_equal(e.code, ERR_MOVED);
	sql_close(second);
}

/* What it committed would be gone after the next recovery. */
static void nobody_joins_with_another_log(void **state)
{
	char here[PATH_MAX];
	struct sql *late;

	(void)state;
	enter(ours, true);
	change_rows(ours, 1);
	leave(ours, true);
	snprintf(here, sizeof here, "%s-wal", path);
	assert_int_equal(unlink(here), 0);
	assert_int_equal(sql_open(&late, path, NULL, 0, &e), -1);
	assert_int_equal(e.code, ERR_MOVED);
	assert_non_null(strstr(e.text, "-wal was deleted or replaced"));
	/* the last process that has the old log saves it */
	sqlite3_close(other);
	sql_close(ours);
	assert_int_equal(sql_open(&ours, path, NULL, 0, &e), 0);
	assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
	assert_int_equal(ask(other, "SELECT v <> zeroblob(3500) FROM x "
				    "WHERE i = 1"),
			 1);
}

/* --- registered files --------------------------------------------------------- */

static void every_connection_registers_its_file(void **state)
{
	const char *alone = temp_join(&dir, "alone.sqlite");
	char index[PATH_MAX];
	sqlite3 *conn;

	(void)state;
	snprintf(index, sizeof index, "%s-shm", alone);
	assert_int_equal(sql_connect(alone,
				     SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
				     &conn),
			 SQLITE_OK);
	assert_true(held_refuses(AT_FDCWD, alone));
	assert_true(held_refuses(AT_FDCWD, index));
	assert_true(held_refuses(AT_FDCWD, path));
	sql_disconnect(conn);
	assert_false(held_refuses(AT_FDCWD, alone));
	assert_true(held_refuses(AT_FDCWD, path)); /* ours */
}

#define WITH_FILE(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_FILE(a_commit_is_complete_when_it_returns),
		WITH_FILE(a_commit_after_a_spill_survives_a_crash),
		WITH_FILE(a_rollback_never_harms_another_commit),
		WITH_FILE(a_log_that_is_long_is_copied_and_begun_anew),
		WITH_FILE(writers_that_wait_for_the_disk_also_copy_it),
		WITH_FILE(a_reader_delays_the_reset_and_no_writer),
		WITH_FILE(a_writer_in_the_way_makes_it_busy),
		WITH_FILE(a_checkpoint_is_not_made_out_of_turn),
		WITH_FILE(the_last_to_close_copies_the_log_in_its_turn),
		WITH_FILE(a_passive_checkpoint_shows_the_race),
		WITH_FILE(our_checkpoint_excludes_it),
		WITH_FILE(a_file_that_is_lost_is_noticed),
		WITH_FILE(a_log_is_known_from_the_open_on),
		WITH_FILE(nobody_joins_with_another_log),
		WITH_FILE(every_connection_registers_its_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
