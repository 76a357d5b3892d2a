/*
 * Admin acts on the control plane are there as a whole or not at all, with their
 * audit row, whichever write, sync or allocation fails and wherever the process
 * dies; doing them again then succeeds.
 */
#include "tests/support/fault_vfs.h"
#include "tests/support/temp.h"

#include "schema/control/agent.h"
#include "schema/control/control.h"
#include "schema/control/registry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct temp dir, prepared;
static struct home home;

static struct agent_row plain(const char *name)
{
	return (struct agent_row){.name = name,
				  .driver = "script",
				  .workspace = "disk",
				  .is_enabled = true,
				  .spec = "{}",
				  .source = "command"};
}

/* --- the acts ----------------------------------------------------------- */

static int add_agent(struct sql *db, struct arena *a, struct err *e)
{
	struct agent_row row = plain("new");

	return agents_put(db, &row, a, e) < 0 ? -1 : 0;
}

static int change_agent(struct sql *db, struct arena *a, struct err *e)
{
	struct agent_row row = plain("old");

	row.model = "m";
	row.is_default = true;
	return agents_put(db, &row, a, e) < 0 ? -1 : 0;
}

static int make_default(struct sql *db, struct arena *a, struct err *e)
{
	(void)a;
	return agents_set_default(db, "old", e);
}

static int make_agent_file(struct sql *db, struct arena *a, struct err *e)
{
	struct agent_database_row row;

	return registry_make(db, &home, "old", &row, a, e);
}

static int lock(struct sql *db, struct arena *a, struct err *e)
{
	int64_t epoch;

	(void)a;
	return control_lock(db, "test", &epoch, e);
}

static const struct {
	const char *name;
	int (*act)(struct sql *db, struct arena *a, struct err *e);
	const char *done; /* a query that counts 1 when all of it is there */
	const char *half; /* one that counts 0 unless a part of it is there */
	int stride;       /* 0: every write; a new file has very many */
} acts[] = {
	{"add", add_agent,
	 "SELECT count(*) FROM agent JOIN agent_version v ON v.agent = name "
	 "JOIN audit ON subject = name AND act = 'agent.add' "
	 "WHERE name = 'new'",
	 "SELECT (SELECT count(*) FROM agent WHERE name = 'new') + (SELECT "
	 "count(*) FROM agent_version WHERE agent = 'new') + (SELECT count(*) "
	 "FROM audit WHERE subject = 'new')",
	 0},
	{"change", change_agent,
	 "SELECT count(*) FROM agent WHERE name = 'old' AND model = 'm' AND "
	 "version = 2 AND is_default",
	 "SELECT (SELECT count(*) FROM agent WHERE model = 'm') + (SELECT "
	 "count(*) FROM agent_version WHERE version = 2) + (SELECT 1 - "
	 "count(*) "
	 "FROM agent WHERE name = 'first' AND is_default)",
	 0},
	{"default", make_default,
	 "SELECT count(*) FROM agent JOIN audit ON act = 'agent.default' WHERE "
	 "name = 'old' AND is_default",
	 "SELECT 1 - count(*) FROM agent WHERE name = 'first' AND is_default",
	 0},
	{"file", make_agent_file,
	 "SELECT count(*) FROM agent_database WHERE agent = 'old'", "SELECT 0",
	 11},
	{"lock", lock, "SELECT count(*) FROM supervisor WHERE epoch = 1",
	 "SELECT count(*) FROM supervisor", 0},
};

/* --- the loop ----------------------------------------------------------- */

static struct sql *open_control(unsigned flags)
{
	struct sql *db = NULL;
	struct err e;

	if (control_open(&db, &home, flags, &e))
		fail_msg("%s", e.text);
	return db;
}

/* What every try begins with, made once and copied. */
static void prepare_home(void)
{
	struct agent_row first = plain("first"), old = plain("old");
	struct arena a = {0};
	struct err e;
	struct sql *db;

	temp_make(&prepared);
	snprintf(home.root, sizeof home.root, "%s/h", prepared.path);
	db = open_control(SQL_CREATE);
	if (agents_put(db, &first, &a, &e) < 0 ||
	    agents_put(db, &old, &a, &e) < 0)
		fail_msg("%s", e.text);
	sql_close(db);
	arena_fini(&a);
}

static void copy_home(void)
{
	temp_copy(&dir, &prepared);
	snprintf(home.root, sizeof home.root, "%s/h", dir.path);
}

static int64_t count_rows(struct sql *db, const char *query)
{
	struct err e;
	int64_t n = -1;

	if (sql_script_i64(db, query, &n, &e))
		fail_msg("%s", e.text);
	return n;
}

/* All or nothing; then it can be done. */
static void check_act(size_t i, bool must_be_there)
{
	struct sql *db = open_control(0);
	struct arena a = {0};
	struct err e = {0};
	const char *ok;
	int64_t done = count_rows(db, acts[i].done);

	assert_true(done == 1 || (done == 0 && !must_be_there));
	if (!done)
		assert_int_equal(count_rows(db, acts[i].half), 0);
	assert_int_equal(
		sql_script_text(db, "PRAGMA integrity_check", &a, &ok, &e), 0);
	assert_string_equal(ok, "ok");
	if (!done && acts[i].act(db, &a, &e))
		fail_msg("%s again: %s", acts[i].name, e.text);
	assert_int_equal(count_rows(db, acts[i].done), 1);
	sql_close(db);
	arena_fini(&a);
	temp_remove(&dir);
}

static void fail_everywhere(enum fault_kind kind)
{
	for (size_t i = 0; i < sizeof acts / sizeof acts[0]; i++) {
		bool fired = true;

		for (int nth = 1; fired; nth += 1 + acts[i].stride) {
			struct arena a = {0};
			struct err e = {0};
			struct sql *db;
			int rc;

			copy_home();
			db = open_control(0);
			fault_arm(nth, kind);
			rc = acts[i].act(db, &a, &e);
			fired = fault_fired();
			fault_disarm();
			sql_close(db);
			arena_fini(&a);
			check_act(i, rc == 0);
		}
	}
}

static void a_failed_write_leaves_all_or_nothing(void **state)
{
	(void)state;
	fail_everywhere(FAULT_IOERR);
	fail_everywhere(FAULT_FULL);
}

static void a_failed_allocation_leaves_all_or_nothing(void **state)
{
	(void)state;
	fail_everywhere(FAULT_NOMEM);
}

static int die_at(size_t i, int nth)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		struct arena a = {0};
		struct err e = {0};
		struct sql *db = open_control(0);

		fault_arm(nth, FAULT_DIE);
		_exit(acts[i].act(db, &a, &e) ? 1 : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void death_at_any_write_leaves_all_or_nothing(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof acts / sizeof acts[0]; i++) {
		int status = FAULT_DIED;

		for (int nth = 1; status == FAULT_DIED;
		     nth += 1 + acts[i].stride) {
			copy_home();
			status = die_at(i, nth);
			assert_true(status == 0 || status == FAULT_DIED);
			/* a lock taken by the dead counts on from there */
			if (acts[i].act == lock && status == 0)
				temp_remove(&dir);
			else
				check_act(i, status == 0);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_failed_write_leaves_all_or_nothing),
		cmocka_unit_test(a_failed_allocation_leaves_all_or_nothing),
		cmocka_unit_test(death_at_any_write_leaves_all_or_nothing),
	};
	int failed;

	fault_vfs_install();
	fault_malloc_install();
	prepare_home();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	temp_remove(&prepared);
	return failed;
}
