#include "lib/base/buf.h"
#include "lib/base/hash.h"
#include "lib/os/atomic_file.h"
#include "lib/os/file.h"
#include "tests/support/migration_fixture.h"
#include "tests/support/temp.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct temp dir;
static const char *path;

static int set_up_migrate(void **state)
{
	static char file[4096];

	(void)state;
	temp_make(&dir);
	snprintf(file, sizeof file, "%s", temp_join(&dir, "f.sqlite"));
	path = file;
	return 0;
}

static int tear_down_migrate(void **state)
{
	(void)state;
	temp_remove(&dir);
	return 0;
}

static int open_as(int version, unsigned flags, struct sql **db, struct err *e)
{
	struct db_schema s = fixture_schema(version);

	return db_open(db, path, &s, flags, e);
}

static void hash_file(const char *name, char out[HASH_HEX])
{
	struct buf b = BUF_MAX(16 << 20);
	struct err e;

	if (file_read(name, &b, &e))
		fail_msg("%s", e.text);
	hash_of(b.p, b.n, out);
	buf_fini(&b);
}

static struct db_migrating reported;
static int tellings;

static void note_progress(const struct db_migrating *m)
{
	reported = *m;
	tellings++;
}

static void a_long_migration_is_reported(void **state)
{
	static const struct db_migration steps[] = {
		{"0001", "CREATE TABLE t (i)", false},
		{"0002",
		 "INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL "
		 "SELECT i + 1 FROM n WHERE i < 100000) SELECT i FROM n",
		 false},
		{"0003", "CREATE INDEX t_i ON t (i)", false},
	};
	struct db_schema s = {.kind = "test",
			      .application_id = 1,
			      .migrations = steps,
			      .version = 1};
	struct err e = {0};
	struct sql *db;

	(void)state;
	tellings = 0;
	db_watch_migrations(note_progress, 0);
	for (s.version = 1; s.version <= 3; s.version++) {
		int before = tellings;

		assert_int_equal(db_open(&db, path, &s, SQL_CREATE, &e), 0);
		sql_close(db);
		if (s.version == 1) {
			assert_int_equal(tellings, 0);
			continue;
		}
		assert_true(tellings > before);
		assert_int_equal(reported.version, s.version);
		assert_int_equal(reported.last, s.version);
	}
	db_watch_migrations(NULL, 0);
}

static void every_version_reaches_the_newest(void **state)
{
	(void)state;
	for (int from = 1; from <= FAMILY_NEWEST; from++) {
		struct sql *db;
		struct err e;

		unlink(path);
		assert_int_equal(open_as(from, SQL_CREATE, &db, &e), 0);
		sql_close(db);
		fixture_check(path, from);
		assert_int_equal(db_peek_version(path), from);
		fixture_check(path, FAMILY_NEWEST);
		fixture_check(path, FAMILY_NEWEST); /* and stays there */
	}
}

static void a_newer_file_is_refused_untouched(void **state)
{
	char before[HASH_HEX], after[HASH_HEX];
	struct sql *db;
	struct stat st, again;
	struct err e;

	(void)state;
	fixture_check(path, FAMILY_NEWEST); /* makes it */
	hash_file(path, before);
	stat(path, &st);
	assert_int_equal(open_as(2, SQL_CREATE, &db, &e), -1);
	assert_int_equal(e.code, ERR_VERSION);
	assert_non_null(strstr(e.text, "version 3"));
	assert_non_null(strstr(e.text, "up to 2"));
	assert_non_null(strstr(e.text, path));
	hash_file(path, after);
	assert_string_equal(before, after);
	stat(path, &again);
	assert_int_equal(st.st_mtim.tv_nsec, again.st_mtim.tv_nsec);
	assert_false(file_exists(temp_join(&dir, "f.sqlite-wal")));
	assert_false(file_exists(temp_join(&dir, "f.sqlite-shm")));
}

/* A newer program died: its version is in the WAL, not yet in the file. */
static void a_newer_version_in_the_wal_is_refused_too(void **state)
{
	char before[HASH_HEX], after[HASH_HEX];
	struct sql *db;
	struct err e;
	pid_t pid;

	(void)state;
	fixture_make(path);
	pid = fork();
	if (pid == 0)
		_exit(open_as(FAMILY_NEWEST, 0, &db, &e) ? 1 : 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(db_peek_version(path), 1);
	hash_file(path, before);
	assert_int_equal(open_as(2, 0, &db, &e), -1);
	assert_int_equal(e.code, ERR_VERSION);
	hash_file(path, after);
	assert_string_equal(before, after);
	fixture_check(path, FAMILY_NEWEST);
}

static void a_file_of_another_program_is_refused(void **state)
{
	struct db_schema s = fixture_schema(FAMILY_NEWEST);
	struct sql *db;
	struct err e;

	(void)state;
	fixture_make(path);
	s.application_id = 0x12345678;
	s.kind = "agent file";
	assert_int_equal(db_open(&db, path, &s, 0, &e), -1);
	assert_int_equal(e.code, ERR_INVALID);
	assert_non_null(strstr(e.text, path));
	assert_non_null(strstr(e.text, "agent file"));
}

static void a_read_only_open_changes_no_version(void **state)
{
	struct sql *db;
	struct err e;

	(void)state;
	fixture_make(path);
	assert_int_equal(open_as(FAMILY_NEWEST, SQL_READONLY, &db, &e), -1);
	assert_int_equal(e.code, ERR_VERSION);
	assert_int_equal(db_peek_version(path), 1);
	assert_int_equal(open_as(1, SQL_READONLY, &db, &e), 0);
	assert_int_equal(sql_script(db, "DELETE FROM parent", &e), -1);
	assert_int_equal(e.code, ERR_READONLY);
	sql_close(db);
}

static void processes_that_migrate_at_once_agree(void **state)
{
	(void)state;
	for (int round = 0; round < 5; round++) {
		pid_t pids[6];

		unlink(path);
		fixture_make(path);
		for (int i = 0; i < 6; i++) {
			pids[i] = fork();
			if (pids[i] == 0) {
				struct sql *db;
				struct err e;
				int bad = open_as(FAMILY_NEWEST, 0, &db, &e);

				if (bad)
					(void)fprintf(stderr, "%s\n", e.text);
				_exit(bad ? 1 : 0);
			}
		}
		for (int i = 0; i < 6; i++) {
			int status;

			waitpid(pids[i], &status, 0);
			assert_int_equal(status, 0);
		}
		fixture_check(path, FAMILY_NEWEST);
	}
}

static void processes_that_make_a_file_at_once_agree(void **state)
{
	(void)state;
	for (int round = 0; round < 5; round++) {
		unlink(path);
		for (int i = 0; i < 4; i++)
			if (fork() == 0) {
				struct sql *db;
				struct err e;
				int bad = open_as(FAMILY_NEWEST, SQL_CREATE,
						  &db, &e);

				if (bad)
					(void)fprintf(stderr, "%s\n", e.text);
				_exit(bad ? 1 : 0);
			}
		for (int i = 0; i < 4; i++) {
			int status;

			assert_true(wait(&status) > 0);
			assert_int_equal(status, 0);
		}
		fixture_check(path, FAMILY_NEWEST);
	}
}

static int not_now(struct sql *db, struct err *e)
{
	(void)db;
	return err_set(e, ERR_BUSY, "in use");
}

static void a_file_that_may_not_change_does_not(void **state)
{
	struct db_schema newest = fixture_schema(FAMILY_NEWEST);
	struct db_schema column = fixture_schema(1);
	struct sql *db;
	struct err e;

	(void)state;
	newest.may_change = not_now;
	column.may_change = not_now;
	column.ncolumns = 1;
	fixture_make(path);
	assert_int_equal(db_open(&db, path, &newest, 0, &e), -1);
	assert_int_equal(e.code, ERR_BUSY);
	assert_int_equal(db_open(&db, path, &column, 0, &e), -1);
	assert_int_equal(e.code, ERR_BUSY);
	fixture_check(path, 1);
}

static void a_rebuild_that_would_orphan_rows_is_undone(void **state)
{
	static const struct db_migration loses[] = {
		{"0001_init",
		 "CREATE TABLE p (id INTEGER PRIMARY KEY);"
		 "CREATE TABLE c (p INTEGER REFERENCES p (id));"
		 "INSERT INTO p VALUES (1), (2); INSERT INTO c VALUES (2);",
		 false},
		{"0002_loses",
		 "CREATE TABLE q (id INTEGER PRIMARY KEY);"
		 "INSERT INTO q SELECT id FROM p WHERE id < 2;"
		 "DROP TABLE p; ALTER TABLE q RENAME TO p;",
		 true},
	};
	static const struct sql_set none;
	struct db_schema s = {.kind = "test file",
			      .application_id = 7,
			      .migrations = loses,
			      .version = 1,
			      .queries = &none};
	struct sql *db;
	struct err e;
	int64_t n = 0;

	(void)state;
	assert_int_equal(db_open(&db, path, &s, SQL_CREATE, &e), 0);
	sql_close(db);
	s.version = 2;
	assert_int_equal(db_open(&db, path, &s, 0, &e), -1);
	assert_int_equal(e.code, ERR_CORRUPT);
	assert_non_null(strstr(e.text, "0002_loses"));
	s.version = 1;
	assert_int_equal(db_open(&db, path, &s, 0, &e), 0);
	assert_int_equal(sql_script_i64(db, "SELECT count(*) FROM p", &n, &e),
			 0);
	assert_int_equal(n, 2);
	sql_close(db);
}

static void a_column_that_is_there_is_not_added_again(void **state)
{
	struct sql *db;
	struct err e;

	(void)state;
	fixture_make(path);
	assert_int_equal(open_as(1, 0, &db, &e), 0);
	assert_int_equal(sql_script(db,
				    "ALTER TABLE child ADD COLUMN late "
				    "TEXT",
				    &e),
			 0);
	sql_close(db);
	fixture_check(path, FAMILY_NEWEST);
}

static void what_is_no_database_is_left_alone(void **state)
{
	static const char *const texts[] = {
		"hello\n", "SQLite format 3",
		("a longer text than the header of a database has bytes, so "
		 "that the header can be read as a whole and is still "
		 "wrong")};
	struct sql *db;
	struct err e;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct buf b = BUF_MAX(1000);

		assert_int_equal(atomic_file_write(path, texts[i],
						   strlen(texts[i]), 0600, &e),
				 0);
		assert_int_equal(open_as(1, SQL_CREATE, &db, &e), -1);
		assert_int_equal(e.code, ERR_CORRUPT);
		assert_int_equal(file_read(path, &b, &e), 0);
		assert_string_equal(b.p, texts[i]);
		buf_fini(&b);
	}
}

static void a_place_that_cannot_be_is_named(void **state)
{
	struct db_schema s = fixture_schema(1);
	const char *nowhere = temp_join(&dir, "no/such/dir/f.sqlite");
	struct sql *db;
	struct err e;

	(void)state;
	assert_int_equal(db_open(&db, nowhere, &s, SQL_CREATE, &e), -1);
	assert_int_equal(e.code, ERR_NOTFOUND);
	assert_non_null(strstr(e.text, nowhere));
	assert_int_equal(open_as(1, 0, &db, &e), -1);
	assert_int_equal(e.code, ERR_NOTFOUND);
	assert_false(file_exists(path));
	assert_int_equal(db_open(&db, dir.path, &s, SQL_CREATE, &e), -1);
	assert_int_equal(db_peek_version(path), -1);
}

/* The lock by which others see that the file is in use: without it, the last
 * of them to close removes the WAL under our feet. */
static bool has_shared_lock(pid_t owner)
{
	struct flock l = {.l_type = F_WRLCK,
			  .l_whence = SEEK_SET,
			  .l_start = 0x40000000 + 2, /* SQLite's SHARED_FIRST */
			  .l_len = 510};
	int fd = open(path, O_RDWR | O_CLOEXEC);
	bool held;

	held = fcntl(fd, F_GETLK, &l) == 0 && l.l_type == F_RDLCK &&
	       l.l_pid == owner;
	close(fd);
	return held;
}

static void a_second_connection_keeps_the_locks_of_the_first(void **state)
{
	struct sql *one, *two;
	struct err e;
	pid_t me = getpid(), pid;
	int status;

	(void)state;
	assert_int_equal(open_as(FAMILY_NEWEST, SQL_CREATE, &one, &e), 0);
	assert_int_equal(open_as(FAMILY_NEWEST, 0, &two, &e), 0);
	assert_int_equal(db_peek_version(path), 0); /* still in the WAL */
	pid = fork(); /* only another process sees our locks */
	if (pid == 0)
		_exit(has_shared_lock(me) ? 0 : 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	sql_close(two);
	sql_close(one);
	assert_int_equal(db_peek_version(path), FAMILY_NEWEST);
}

#define EACH(f) \
	cmocka_unit_test_setup_teardown(f, set_up_migrate, tear_down_migrate)

int main(void)
{
	const struct CMUnitTest tests[] = {
		EACH(a_long_migration_is_reported),
		EACH(every_version_reaches_the_newest),
		EACH(a_newer_file_is_refused_untouched),
		EACH(a_newer_version_in_the_wal_is_refused_too),
		EACH(a_file_of_another_program_is_refused),
		EACH(a_read_only_open_changes_no_version),
		EACH(processes_that_migrate_at_once_agree),
		EACH(processes_that_make_a_file_at_once_agree),
		EACH(a_file_that_may_not_change_does_not),
		EACH(a_rebuild_that_would_orphan_rows_is_undone),
		EACH(a_column_that_is_there_is_not_added_again),
		EACH(what_is_no_database_is_left_alone),
		EACH(a_place_that_cannot_be_is_named),
		EACH(a_second_connection_keeps_the_locks_of_the_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
