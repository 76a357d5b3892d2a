/* One commit per turn, effects after it: supervisor/core/txn.h. */
#include "supervisor/core/txn.h"

#include "schema/control/control.h"
#include "tests/support/temp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct temp dir;
static struct sql *db, *other;
static uv_loop_t loop;
static struct txn txn;
static char seen[256];
static int failures, again;

static void note_call(const char *word)
{
	size_t n = strlen(seen);

	snprintf(seen + n, sizeof seen - n, "%s ", word);
}

static void before(void *arg)
{
	(void)arg;
}

static void failed(void *arg, const struct err *e)
{
	(void)arg;
	assert_non_null(e);
	failures++;
}

static int set_up_txn(void **state)
{
	struct home home;
	struct err e;

	(void)state;
	temp_make(&dir);
	assert_int_equal(home_find(&home, temp_join(&dir, "home"), &e), 0);
	assert_int_equal(control_open(&db, &home, SQL_CREATE, &e), 0);
	assert_int_equal(control_open(&other, &home, SQL_READONLY, &e), 0);
	uv_loop_init(&loop);
	txn_init(&txn, &loop, db, (struct txn_calls){NULL, before, failed});
	seen[0] = '\0';
	failures = again = 0;
	return 0;
}

static int tear_down_txn(void **state)
{
	(void)state;
	txn_close(&txn);
	uv_run(&loop, UV_RUN_DEFAULT);
	uv_loop_close(&loop);
	sql_close(db);
	sql_close(other);
	temp_remove(&dir);
	return 0;
}

static void put_row(const char *key)
{
	struct kv_put_in in = {"t", key, "v", OPT_NONE, 1};
	struct err e;

	assert_int_equal(txn_begin(&txn, &e), 0);
	assert_true(sql_exec(db, Q_KV_PUT, &in, &e) >= 0);
}

/* What another connection sees. */
static int64_t rows_seen(void)
{
	int64_t n;
	struct err e;

	assert_int_equal(
		sql_script_i64(other, "SELECT count(*) FROM kv", &n, &e), 0);
	return n;
}

static void note_result(void *arg, const struct err *e)
{
	char text[64];

	snprintf(text, sizeof text, "%s%s:%d", (const char *)arg, e ? "!" : "",
		 (int)rows_seen());
	note_call(text);
}

static char a[] = "a", b[] = "b";

static void effects_come_after_one_commit_in_order(void **state)
{
	(void)state;
	put_row("one");
	txn_on_commit(&txn, note_result, a);
	put_row("two");
	txn_on_commit(&txn, note_result, b);
	assert_string_equal(seen, "");
	assert_int_equal(rows_seen(), 0);
	txn_end(&txn);
	assert_string_equal(seen, "a:2 b:2 ");
	assert_int_equal(txn.commits, 1);
}

static void change_again(void *arg, const struct err *e)
{
	(void)arg;
	assert_null(e);
	if (again++ == 0) {
		put_row("three");
		txn_on_commit(&txn, note_result, a);
	}
}

static void what_an_effect_changes_is_committed_too(void **state)
{
	(void)state;
	put_row("one");
	txn_on_commit(&txn, change_again, NULL);
	txn_end(&txn);
	assert_string_equal(seen, "a:2 ");
	assert_int_equal(txn.commits, 2);
}

static void an_effect_without_a_change_costs_no_commit(void **state)
{
	(void)state;
	txn_on_commit(&txn, note_result, a);
	txn_end(&txn);
	assert_string_equal(seen, "a:0 ");
	assert_int_equal(txn.commits, 0);
}

static void a_failed_statement_takes_the_whole_step_back(void **state)
{
	struct kv_put_in bad = {"t", "two", NULL, OPT_NONE, 1};
	struct err e;

	(void)state;
	put_row("one");
	txn_on_commit(&txn, note_result, a);
	assert_int_equal(sql_exec(db, Q_KV_PUT, &bad, &e), -1);
	txn_on_commit(&txn, note_result, b);
	txn_end(&txn);
	assert_string_equal(seen, "a!:0 b!:0 ");
	assert_int_equal(failures, 1);
	put_row("three");
	txn_end(&txn);
	assert_int_equal(rows_seen(), 1);
}

static int put_bad(void)
{
	struct kv_put_in bad = {"t", "two", NULL, OPT_NONE, 1};
	struct err e;

	return txn_begin(&txn, &e) || sql_exec(db, Q_KV_PUT, &bad, &e) < 0 ? -1
									   : 0;
}

static void undo(void *arg)
{
	char text[64];

	snprintf(text, sizeof text, "undo-%s", (const char *)arg);
	note_call(text);
}

static void a_refused_verb_leaves_no_trace(void **state)
{
	struct err e;

	(void)state;
	put_row("one");
	txn_on_commit(&txn, note_result, a);
	txn_try_begin(&txn);
	put_row("two");
	txn_on_commit(&txn, note_result, b);
	txn_on_rollback(&txn, undo, a);
	txn_on_rollback(&txn, undo, b);
	assert_int_equal(txn_try_end(&txn, -1, &e), -1);
	assert_string_equal(seen, "undo-b undo-a ");
	put_row("three");
	txn_on_commit(&txn, note_result, a);
	txn_end(&txn);
	assert_string_equal(seen, "undo-b undo-a a:2 a:2 ");
	assert_int_equal(failures, 0);
}

static void a_failed_statement_takes_its_verb_back_alone(void **state)
{
	struct err e;

	(void)state;
	put_row("one");
	txn_on_commit(&txn, note_result, a);
	txn_try_begin(&txn);
	put_row("three");
	assert_int_equal(txn_try_end(&txn, put_bad(), &e), -1);
	txn_end(&txn);
	assert_string_equal(seen, "a:1 ");
	assert_int_equal(failures, 0);
}

static void a_verb_cannot_go_on_after_a_failed_statement(void **state)
{
	struct err e;

	(void)state;
	txn_try_begin(&txn);
	put_row("one");
	(void)put_bad();
	assert_int_equal(txn_try_end(&txn, 0, &e), -1);
	put_row("two");
	txn_end(&txn);
	assert_int_equal(rows_seen(), 1);
	assert_int_equal(failures, 0);
}

static void verbs_nest(void **state)
{
	struct err e;

	(void)state;
	txn_try_begin(&txn);
	txn_try_begin(&txn); /* opens the savepoints of both */
	put_row("one");
	assert_int_equal(txn_try_end(&txn, 0, &e), 0);
	txn_try_begin(&txn);
	put_row("two");
	assert_int_equal(txn_try_end(&txn, -1, &e), -1);
	txn_on_commit(&txn, note_result, a);
	assert_int_equal(txn_try_end(&txn, 0, &e), 0);
	txn_try_begin(&txn);
	txn_try_begin(&txn);
	put_row("three");
	txn_on_commit(&txn, note_result, b);
	assert_int_equal(txn_try_end(&txn, 0, &e), 0);
	assert_int_equal(txn_try_end(&txn, -1, &e), -1);
	txn_end(&txn);
	assert_string_equal(seen, "a:1 ");
}

static void a_verb_that_changes_no_row_begins_no_transaction(void **state)
{
	struct err e;

	(void)state;
	txn_try_begin(&txn);
	txn_on_commit(&txn, note_result, a);
	assert_int_equal(txn_try_end(&txn, 0, &e), 0);
	assert_false(sql_in_transaction(db));
	txn_end(&txn);
	assert_string_equal(seen, "a:0 ");
	assert_int_equal(txn.commits, 0);
}

static void a_failed_commit_calls_rollbacks_before_effects(void **state)
{
	struct err e;

	(void)state;
	txn_try_begin(&txn);
	put_row("one");
	txn_on_commit(&txn, note_result, a);
	txn_on_rollback(&txn, undo, a);
	assert_int_equal(txn_try_end(&txn, 0, &e), 0);
	(void)put_bad(); /* outside of a verb */
	txn_end(&txn);
	assert_string_equal(seen, "undo-a a!:0 ");
	assert_int_equal(failures, 1);
	put_row("two");
	txn_end(&txn); /* rollbacks are called once */
	assert_string_equal(seen, "undo-a a!:0 ");
}

static void on_timer(uv_timer_t *t)
{
	put_row("from the loop");
	txn_on_commit(&txn, note_result, a);
	uv_close((uv_handle_t *)t, NULL);
}

static void the_loop_ends_the_step_before_it_waits(void **state)
{
	uv_timer_t t;

	(void)state;
	uv_timer_init(&loop, &t);
	uv_timer_start(&t, on_timer, 0, 0);
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_string_equal(seen, "a:1 ");
}

#define T(name) cmocka_unit_test_setup_teardown(name, set_up_txn, tear_down_txn)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(effects_come_after_one_commit_in_order),
		T(what_an_effect_changes_is_committed_too),
		T(an_effect_without_a_change_costs_no_commit),
		T(a_failed_statement_takes_the_whole_step_back),
		T(a_refused_verb_leaves_no_trace),
		T(a_failed_statement_takes_its_verb_back_alone),
		T(a_verb_cannot_go_on_after_a_failed_statement),
		T(verbs_nest),
		T(a_verb_that_changes_no_row_begins_no_transaction),
		T(a_failed_commit_calls_rollbacks_before_effects),
		T(the_loop_ends_the_step_before_it_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
