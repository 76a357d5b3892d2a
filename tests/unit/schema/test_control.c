#include "tests/support/clock.h"
#include "tests/support/temp.h"

#include "lib/base/clock.h"
#include "lib/os/process.h"
#include "schema/control/control.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct temp dir;
static struct home home;
static struct sql *db;
static struct err e;

static int set_up_control(void **state)
{
	(void)state;
	temp_make(&dir);
	snprintf(home.root, sizeof home.root, "%s/home", dir.path);
	e = (struct err){0};
	if (control_open(&db, &home, SQL_CREATE, &e))
		fail_msg("%s", e.text);
	return 0;
}

static int tear_down_control(void **state)
{
	(void)state;
	test_clock_set(-1);
	sql_close(db);
	temp_remove(&dir);
	return 0;
}

/* In a process of its own: become the supervisor and end or stay. */
static pid_t lock_in_child(bool stay)
{
	int ready[2];
	char c;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		struct sql *mine;
		int64_t epoch;

		if (control_open(&mine, &home, 0, &e) ||
		    control_lock(mine, "test", &epoch, &e))
			_exit(1);
		if (write(ready[1], "x", 1) != 1)
			_exit(2);
		if (stay)
			pause();
		_exit(0);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
	return pid;
}

static void a_home_that_is_not_there_is_named(void **state)
{
	struct home none;
	struct sql *other;

	(void)state;
	snprintf(none.root, sizeof none.root, "%s/none", dir.path);
	assert_int_equal(control_open(&other, &none, 0, &e), -1);
	assert_int_equal(e.code, ERR_NOTFOUND);
	assert_non_null(strstr(e.text, none.root));
	assert_int_equal(access(none.root, F_OK), -1);
}

static void a_second_supervisor_is_refused_by_name(void **state)
{
	pid_t pid = lock_in_child(true);
	char word[32];
	int64_t epoch;

	(void)state;
	snprintf(word, sizeof word, "pid %d", (int)pid);
	assert_int_equal(control_lock(db, "me", &epoch, &e), -1);
	assert_int_equal(e.code, ERR_BUSY);
	assert_non_null(strstr(e.text, word));
	assert_int_equal(control_enter_alone(db, &e), -1);
	assert_int_equal(e.code, ERR_BUSY);
	assert_false(sql_in_transaction(db));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void a_dead_supervisor_is_followed_and_the_epoch_counts(void **state)
{
	pid_t pid = lock_in_child(false);
	struct supervisor_row row;
	struct arena a = {0};
	int64_t epoch;

	(void)state;
	waitpid(pid, NULL, 0);
	assert_int_equal(control_supervisor(db, &row, &a, &e), 0);
	assert_int_equal(control_lock(db, "me", &epoch, &e), 0);
	assert_int_equal(epoch, 2);
	assert_int_equal(control_supervisor(db, &row, &a, &e), 1);
	assert_int_equal(row.pid, getpid());
	assert_int_equal(control_unlock(db, &e), 0);
	assert_int_equal(control_supervisor(db, &row, &a, &e), 0);
	assert_int_equal(control_lock(db, "me", &epoch, &e), 0);
	assert_int_equal(epoch, 3);
	arena_fini(&a);
}

static void the_supervisor_itself_may_write(void **state)
{
	int64_t epoch;

	(void)state;
	assert_int_equal(control_lock(db, "me", &epoch, &e), 0);
	assert_int_equal(control_enter_alone(db, &e), 0);
	assert_int_equal(sql_leave(db,
				   control_audit(db, NULL, "test.act", "x",
						 "{\"n\":1}", &e),
				   &e),
			 0);
}

static void an_audit_row_must_be_json(void **state)
{
	(void)state;
	assert_int_equal(control_audit(db, NULL, "a", NULL, "{oops", &e), -1);
	assert_int_equal(e.code, ERR_INVALID);
}

static void small_values_expire_and_large_ones_are_refused(void **state)
{
	struct arena a = {0};
	const char *value = NULL;
	static char large[70000];

	(void)state;
	test_clock_set(1000);
	assert_int_equal(control_kv_put(db, "s", "k", "v", 2000, &e), 0);
	assert_int_equal(control_kv_get(db, "s", "k", &a, &value, &e), 1);
	assert_string_equal(value, "v");
	test_clock_set(2000);
	assert_int_equal(control_kv_get(db, "s", "k", &a, &value, &e), 0);
	assert_int_equal(control_kv_put(db, "s", "k", "w", OPT_NONE, &e), 0);
	assert_int_equal(control_kv_get(db, "s", "k", &a, &value, &e), 1);
	assert_int_equal(control_kv_put(db, "s", "k", NULL, OPT_NONE, &e), 0);
	assert_int_equal(control_kv_get(db, "s", "k", &a, &value, &e), 0);
	memset(large, 'x', sizeof large - 1);
	assert_int_equal(control_kv_put(db, "s", "k", large, OPT_NONE, &e), -1);
	assert_int_equal(e.code, ERR_TOOBIG);
	assert_int_equal(control_kv_put(db, "s\n", "k", "v", OPT_NONE, &e), -1);
	arena_fini(&a);
}

int main(void)
{
#define T(name) \
	cmocka_unit_test_setup_teardown(name, set_up_control, tear_down_control)
	const struct CMUnitTest tests[] = {
		T(a_home_that_is_not_there_is_named),
		T(a_second_supervisor_is_refused_by_name),
		T(a_dead_supervisor_is_followed_and_the_epoch_counts),
		T(the_supervisor_itself_may_write),
		T(an_audit_row_must_be_json),
		T(small_values_expire_and_large_ones_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
