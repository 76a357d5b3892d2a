/* What is in the log when a transaction ends, and what a crash leaves of it. A
 * connection of SQLite's own, as another program would have, and a reader of the
 * format (tests/support/wal.h) look on. */
#include "tests/support/wal_test.h"

#include "lib/os/open_files.h"

#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static struct err e;

/* --- commits ---------------------------------------------------------------- */

static void a_commit_is_complete_when_it_returns(void **state)
{
	struct wal w = {0};

	(void)state;
	sql_checkpoint_at(wal_ours, 1000);
	for (int f = 1; f <= FRAMES_MAX; f++) {
		uint32_t before = wal_index(wal_other).last, after;

		wal_enter(wal_ours, f % 8 == 0);
		wal_change_rows(wal_ours, f);
		wal_leave(wal_ours, true);
		after = wal_index(wal_other).last;
		/* the log continues, or started again */
		assert_true(after == before + (uint32_t)f ||
			    after == (uint32_t)f);
		assert_true(wal_read(wal_path, after, &w));
		if (w.frames != after || w.commit != after)
			fail_msg("%d frames: %u of %u are in the log", f,
				 w.frames, after);
	}
	assert_null(wal_check(wal_other, wal_path, &(struct wal){0}));
}

/* --- crashes ---------------------------------------------------------------- */

/* Before the commit, the log has pages of the transaction. */
static void spill(struct sql *db)
{
	uint32_t published = wal_index(wal_other).last;
	struct wal w = {0};

	wal_change_rows(db, FRAMES_MAX);
	assert_true(wal_read(wal_path, published + 1, &w));
	assert_true(w.frames > published);
	wal_change_rows(db, 4); /* again, though they are in the log already */
}

static void a_commit_after_a_spill_survives_a_crash(void **state)
{
	sqlite3 *copy;

	(void)state;
	assert_int_equal(sql_cache(wal_ours, 200, &e), 0);
	sql_checkpoint_at(wal_ours, 100000); /* the log goes on */
	for (int i = 0; i < 4; i++) {
		char text[64];

		wal_enter(wal_ours, i % 2);
		spill(wal_ours);
		snprintf(text, sizeof text, "INSERT INTO y VALUES (%d)", i);
		wal_script(wal_ours, text);
		wal_leave(wal_ours, true);
		assert_null(wal_check(wal_other, wal_path, &(struct wal){0}));
		snprintf(text, sizeof text, "INSERT INTO y VALUES (%d)",
			 i + 100);
		wal_send(text);
		assert_null(wal_check(wal_other, wal_path, &(struct wal){0}));
	}
	copy = wal_crash();
	assert_int_equal(wal_ask(copy, "SELECT count(*) FROM y"), 8);
	sqlite3_close(copy);
}

static void a_rollback_never_harms_another_commit(void **state)
{
	sqlite3 *copy;

	(void)state;
	assert_int_equal(sql_cache(wal_ours, 40, &e), 0);
	for (int i = 0; i < 10; i++) {
		char text[64];

		wal_enter(wal_ours, i % 2);
		wal_change_rows(wal_ours, 15 + 10 * i);
		wal_leave(wal_ours, false);
		assert_null(wal_check(wal_other, wal_path, &(struct wal){0}));
		snprintf(text, sizeof text, "INSERT INTO y VALUES (%d)", i);
		wal_send(text);
		assert_null(wal_check(wal_other, wal_path, &(struct wal){0}));
		wal_script(wal_ours,
			   "SELECT count(*) FROM y"); /* from the log */
		assert_null(wal_check(wal_other, wal_path, &(struct wal){0}));
	}
	copy = wal_crash();
	assert_int_equal(wal_ask(copy, "SELECT count(*) FROM y"), 10);
	assert_int_equal(
		wal_ask(copy, "SELECT max(v <> zeroblob(3500)) FROM x"), 0);
	sqlite3_close(copy);
}

/* --- files that are lost ------------------------------------------------------ */

static void expect_moved(const char *suffix)
{
	const char *name = temp_join(&wal_dir, "t.sqlite");
	char words[PATH_MAX];

	snprintf(words, sizeof words, "%s%s was deleted or replaced", name,
		 suffix);
	wal_enter(wal_ours, true);
	wal_change_rows(wal_ours, 1);
	assert_int_equal(sql_leave(wal_ours, 0, &e), -1);
	assert_int_equal(e.code, ERR_MOVED);
	assert_non_null(strstr(e.text, words));
	/* a single statement is a commit, too */
	e = (struct err){0};
	assert_int_equal(sql_script(wal_ours, "DELETE FROM x", &e), -1);
	assert_int_equal(e.code, ERR_MOVED);
	assert_int_equal(sql_sync(wal_ours, &e), -1);
	assert_int_equal(e.code, ERR_MOVED);
}

static void a_file_that_is_lost_is_noticed(void **state)
{
	static const char *const suffixes[] = {"", "-wal", "-shm"};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		char here[PATH_MAX], away[PATH_MAX];

		snprintf(here, sizeof here, "%s%s", wal_path, suffixes[i]);
		snprintf(away, sizeof away, "%s/away", wal_dir.path);
		assert_int_equal(rename(here, away), 0); /* deleted */
		expect_moved(suffixes[i]);
		assert_int_equal(mknod(here, S_IFREG | 0600, 0), 0);
		expect_moved(suffixes[i]); /* replaced */
		assert_int_equal(rename(away, here), 0);
		wal_enter(wal_ours, true);
		wal_change_rows(wal_ours, 1);
		wal_leave(wal_ours, true);
	}
	assert_null(wal_check(wal_other, wal_path, &(struct wal){0}));
	assert_int_equal(wal_ask(wal_other, "SELECT count(*) FROM x"),
			 FRAMES_MAX);
}

/* Before the first commit of the connection. */
static void a_log_is_known_from_the_open_on(void **state)
{
	char here[PATH_MAX];
	struct sql *second;

	(void)state;
	assert_int_equal(sql_open(&second, wal_path, NULL, 0, &e), 0);
	snprintf(here, sizeof here, "%s-shm", wal_path);
	assert_int_equal(unlink(here), 0);
	assert_int_equal(mknod(here, S_IFREG | 0600, 0), 0);
	wal_enter(second, true);
	wal_change_rows(second, 1);
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
	wal_enter(wal_ours, true);
	wal_change_rows(wal_ours, 1);
	wal_leave(wal_ours, true);
	snprintf(here, sizeof here, "%s-wal", wal_path);
	assert_int_equal(unlink(here), 0);
	assert_int_equal(sql_open(&late, wal_path, NULL, 0, &e), -1);
	assert_int_equal(e.code, ERR_MOVED);
	assert_non_null(strstr(e.text, "-wal was deleted or replaced"));
	/* the last process that has the old log saves it */
	sqlite3_close(wal_other);
	sql_close(wal_ours);
	assert_int_equal(sql_open(&wal_ours, wal_path, NULL, 0, &e), 0);
	assert_int_equal(sqlite3_open(wal_path, &wal_other), SQLITE_OK);
	assert_int_equal(wal_ask(wal_other, "SELECT v <> zeroblob(3500) FROM x "
					    "WHERE i = 1"),
			 1);
}

/* --- registered files --------------------------------------------------------- */

static void every_connection_registers_its_file(void **state)
{
	const char *alone = temp_join(&wal_dir, "alone.sqlite");
	char index[PATH_MAX];
	sqlite3 *conn;

	(void)state;
	snprintf(index, sizeof index, "%s-shm", alone);
	assert_int_equal(sql_connect(alone,
				     SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
				     &conn),
			 SQLITE_OK);
	assert_true(open_files_contain(AT_FDCWD, alone));
	assert_true(open_files_contain(AT_FDCWD, index));
	assert_true(open_files_contain(AT_FDCWD, wal_path));
	sql_disconnect(conn);
	assert_false(open_files_contain(AT_FDCWD, alone));
	assert_true(open_files_contain(AT_FDCWD, wal_path)); /* ours */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_FILE(a_commit_is_complete_when_it_returns),
		WITH_FILE(a_commit_after_a_spill_survives_a_crash),
		WITH_FILE(a_rollback_never_harms_another_commit),
		WITH_FILE(a_file_that_is_lost_is_noticed),
		WITH_FILE(a_log_is_known_from_the_open_on),
		WITH_FILE(nobody_joins_with_another_log),
		WITH_FILE(every_connection_registers_its_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
