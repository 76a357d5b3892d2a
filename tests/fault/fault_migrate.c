/* A migration that fails or dies at any write, sync or allocation leaves what
 * was, and opening again brings the file to the new version, all rows kept. */
#include "tests/support/fault_vfs.h"
#include "tests/support/migration_fixture.h"
#include "tests/support/temp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static int migrate_once(const char *path, struct err *e)
{
	struct db_schema s = fixture_schema(FAMILY_NEWEST);
	struct sql *db = NULL;

	if (db_open(&db, path, &s, 0, e))
		return -1;
	sql_close(db);
	return 0;
}

/* Fails every stride-th place; returns the number of the last. */
static int fail_everywhere(enum fault_kind kind, int stride)
{
	int nth = 1;

	for (bool fired = true; fired; nth += fired ? stride : 0) {
		struct temp dir;
		struct err e = {0};
		const char *path;
		int rc;

		temp_make(&dir);
		path = temp_join(&dir, "old.sqlite");
		fixture_make(path);
		fault_arm(nth, kind);
		rc = migrate_once(path, &e);
		fired = fault_fired();
		fault_disarm();
		assert_true(rc == 0 || (fired && e.text[0]));
		fixture_check(path, FAMILY_NEWEST);
		temp_remove(&dir);
	}
	return nth;
}

static void a_failed_write_loses_nothing(void **state)
{
	(void)state;
	assert_true(fail_everywhere(FAULT_IOERR, 1) > 10);
}

static void a_full_disk_loses_nothing(void **state)
{
	(void)state;
	assert_true(fail_everywhere(FAULT_FULL, 1) > 10);
}

static void a_short_write_loses_nothing(void **state)
{
	(void)state;
	assert_true(fail_everywhere(FAULT_SHORT, 1) > 10);
}

static void no_memory_loses_nothing(void **state)
{
	(void)state;
	assert_true(fail_everywhere(FAULT_NOMEM, 7) > 100);
}

/* True if the child died at its nth write; false if it came to its end. */
static bool die_at(const char *path, int nth)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		struct err e;

		fault_arm(nth, FAULT_DIE);
		_exit(migrate_once(path, &e) ? 1 : 0);
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_true(WEXITSTATUS(status) == 0 ||
		    WEXITSTATUS(status) == FAULT_DIED);
	return WEXITSTATUS(status) == FAULT_DIED;
}

static void a_death_at_any_write_loses_nothing(void **state)
{
	int places = 0;

	(void)state;
	for (bool died = true; died; places += died) {
		struct temp dir;
		const char *path;

		temp_make(&dir);
		path = temp_join(&dir, "old.sqlite");
		fixture_make(path);
		died = die_at(path, places + 1);
		fixture_check(path, FAMILY_NEWEST);
		temp_remove(&dir);
	}
	assert_true(places > 10);
}

static void a_file_that_died_while_being_made_can_be_made(void **state)
{
	(void)state;
	for (int nth = 1, died = 1; died; nth++) {
		struct temp dir;
		const char *path;
		pid_t pid;
		int status;

		temp_make(&dir);
		path = temp_join(&dir, "new.sqlite");
		pid = fork();
		if (pid == 0) {
			fault_arm(nth, FAULT_DIE);
			fixture_make(path);
			_exit(0);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		died = WEXITSTATUS(status) == FAULT_DIED;
		fixture_check(path, FAMILY_NEWEST);
		temp_remove(&dir);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_failed_write_loses_nothing),
		cmocka_unit_test(a_full_disk_loses_nothing),
		cmocka_unit_test(a_short_write_loses_nothing),
		cmocka_unit_test(no_memory_loses_nothing),
		cmocka_unit_test(a_death_at_any_write_loses_nothing),
		cmocka_unit_test(a_file_that_died_while_being_made_can_be_made),
	};

	fault_malloc_install();
	fault_vfs_install();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
