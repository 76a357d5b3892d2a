/* Counts of invocations: triggers keep them, a query over the runs knows. */
#include "schema/control/control.h"
#include "schema/control/run.h"
#include "schema/control_queries.h"
#include "tests/support/temp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct temp dir;
static struct sql *db;
static struct err e;

static int set_up_invocations(void **state)
{
	struct home home;

	(void)state;
	temp_make(&dir);
	if (home_find(&home, temp_join(&dir, "home"), &e) ||
	    control_open(&db, &home, SQL_CREATE, &e) ||
	    run_reason_seed(db, "x", "x", &e))
		fail_msg("%s", e.text);
	return 0;
}

static int tear_down_invocations(void **state)
{
	(void)state;
	sql_close(db);
	temp_remove(&dir);
	return 0;
}

static void script(const char *text)
{
	if (sql_script(db, text, &e))
		fail_msg("%s: %s", text, e.text);
}

static int64_t query_number(const char *text)
{
	int64_t n;

	if (sql_script_i64(db, text, &n, &e))
		fail_msg("%s: %s", text, e.text);
	return n;
}

static void add_runs(int from, int count)
{
	char text[1024];

	snprintf(text, sizeof text,
		 "WITH RECURSIVE n (i) AS (SELECT %d UNION ALL SELECT i + 1 "
		 "FROM n WHERE i < %d) INSERT INTO run (id, agent, session, "
		 "state, reason, backoff_ms, grace_ms, tags, submitted_by, "
		 "created_at, invocation) SELECT printf('run_%%026d', i), 'a' "
		 "|| (i %% 3), 's' || (i %% 7), 'queued', 'x', 1, 1, "
		 "'[]', 'x', i, CASE i %% 4 WHEN 0 THEN NULL ELSE 'v' || "
		 "(i %% 4) END FROM n",
		 from, from + count - 1);
	script(text);
}

/* Rows that only one of the two has. */
static const char differences[] =
	"WITH counted AS (SELECT invocation AS name, "
	"count(DISTINCT agent) AS agents, count(DISTINCT agent || '/' || "
	"session) AS sessions, count(*) AS runs, sum(state = 'queued') AS "
	"waiting, count(ended_at) AS ended, sum(state = 'succeeded') AS "
	"succeeded, sum(state = 'failed') AS failed, sum(state = 'cancelled') "
	"AS cancelled, sum(state = 'timed_out') AS timed_out FROM run WHERE "
	"invocation IS NOT NULL GROUP BY invocation), kept AS (SELECT name, "
	"agents, sessions, runs, waiting, ended, succeeded, failed, cancelled, "
	"timed_out FROM invocation) "
	"SELECT count(*) FROM (SELECT * FROM (SELECT * FROM counted EXCEPT "
	"SELECT * FROM kept) UNION ALL SELECT * FROM (SELECT * FROM kept "
	"EXCEPT SELECT * FROM counted))";

static void the_counts_are_those_of_the_runs(void **state)
{
	static const char *const changes[] = {
		"UPDATE run SET state = 'starting' WHERE rowid % 2",
		"UPDATE run SET state = 'running' WHERE state = 'starting'",
		"UPDATE run SET state = 'queued' WHERE rowid % 10 = 1",
		"UPDATE run SET state = 'succeeded' WHERE rowid % 6 = 1",
		"UPDATE run SET ended_at = rowid WHERE state = 'succeeded'",
		"UPDATE run SET state = 'failed', ended_at = 7 WHERE rowid % 6 "
		"= 3",
		"UPDATE run SET state = 'timed_out', ended_at = 8 WHERE rowid "
		"% 6 = 5",
		"UPDATE run SET state = 'cancelled', ended_at = 9 WHERE rowid "
		"% 6 = 2",
		"DELETE FROM run WHERE rowid % 5 = 0",
		"DELETE FROM run WHERE agent = 'a1'",
		"DELETE FROM run WHERE session = 's2'",
		"DELETE FROM run WHERE invocation = 'v2'",
	};

	(void)state;
	add_runs(1, 400);
	assert_int_equal(query_number(differences), 0);
	assert_int_equal(query_number("SELECT count(*) FROM invocation"), 3);
	for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
		script(changes[i]);
		if (query_number(differences) != 0)
			fail_msg("after %s", changes[i]);
	}
	assert_int_equal(query_number("SELECT count(*) FROM invocation"), 2);
	script("DELETE FROM run");
	assert_int_equal(query_number("SELECT count(*) FROM invocation"), 0);
	assert_int_equal(
		query_number("SELECT count(*) FROM invocation_session"), 0);
}

static int64_t list_invocations(struct invocation_row *first)
{
	struct invocation_list_in in = {"~", 50};
	struct invocation_row *rows;
	struct arena a = {0};
	int n;

	(void)sql_steps(db);
	n = sql_collect(db, Q_INVOCATION_LIST, &in, 50, &rows, &a, &e);
	assert_int_equal(n, 3);
	*first = rows[0];
	arena_fini(&a);
	return sql_steps(db);
}

static void a_list_costs_the_same_with_many_runs(void **state)
{
	struct invocation_row row;
	int64_t few, many;

	(void)state;
	add_runs(1, 40);
	few = list_invocations(&row);
	assert_int_equal(row.runs, 10);
	add_runs(41, 4000);
	script("UPDATE run SET state = 'succeeded', ended_at = rowid");
	many = list_invocations(&row);
	assert_int_equal(row.runs, 1010);
	assert_int_equal(row.active, 0);
	assert_int_equal(row.created_at, 3);
	assert_int_equal(row.ended_at, 4039);
	print_message("%lld and %lld steps\n", (long long)few, (long long)many);
	assert_true(many < few + 20);
}

#define T(name)                                                   \
	cmocka_unit_test_setup_teardown(name, set_up_invocations, \
					tear_down_invocations)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(the_counts_are_those_of_the_runs),
		T(a_list_costs_the_same_with_many_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
