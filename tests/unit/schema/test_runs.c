/* The queue of runs in the control plane: schema/control/run.h. */
#include "schema/control/run.h"

#include "schema/control/control.h"
#include "tests/support/temp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct temp dir;
static struct sql *db;
static struct arena arena;
static struct err e;

static int set_up_runs(void **state)
{
	struct home home;

	(void)state;
	temp_make(&dir);
	if (home_find(&home, temp_join(&dir, "home"), &e) ||
	    control_open(&db, &home, SQL_CREATE, &e) ||
	    run_reasons_seed(db, &e) ||
	    run_reason_seed(db, "cancelled", "x", &e))
		fail_msg("%s", e.text);
	return 0;
}

static int tear_down_runs(void **state)
{
	(void)state;
	sql_close(db);
	arena_fini(&arena);
	temp_remove(&dir);
	return 0;
}

static struct run_request request_for(const char *agent, const char *session)
{
	return (struct run_request){
		.agent = agent,
		.session = session,
		.prompt = "do it",
		.by = "test",
		.queue_timeout_ms = OPT_NONE,
		.run_timeout_ms = OPT_NONE,
		.idle_timeout_ms = OPT_NONE,
		.grace_ms = 1000,
		.max_attempts = 1,
		.backoff_ms = 10,
		.max_depth = 2,
		.session_queue_max = 3,
	};
}

static struct run_made put_run(const struct run_request *a)
{
	struct run_made made;

	if (run_enqueue(db, a, 1000, &made, &e))
		fail_msg("%s", e.text);
	return made;
}

static struct id put_one(const char *agent, const char *session)
{
	struct run_request a = request_for(agent, session);

	return put_run(&a).id;
}

static struct run_row get_run(const char *id)
{
	struct run_row row;

	assert_int_equal(sql_get(db, Q_RUN_GET, &(struct run_get_in){id}, &row,
				 &arena, &e),
			 1);
	return row;
}

static int change_run_state(const char *id, enum run_state to)
{
	struct run_row row = get_run(id);
	struct run_transition m = {
		.id = id,
		.agent = row.agent,
		.session = row.session,
		.from = (enum run_state)run_state_from(row.state),
		.to = to,
		.reason = run_reason_claimed,
		.now = 2000,
		.due_at = 5000,
	};

	return run_change_state(db, &m, &e);
}

/* Takes everything that may start, as "agent agent …", each started. */
static const char *list_detach(struct run_pick *p, int max)
{
	static char order[512];
	struct run_next_row next;

	order[0] = '\0';
	run_pick_begin(p);
	while (max-- > 0 && run_pick_next(db, p, &next, &arena, &e) == 1) {
		size_t n = strlen(order);

		assert_int_equal(change_run_state(next.id, RUN_STARTING), 0);
		snprintf(order + n, sizeof order - n, "%s%s", n ? " " : "",
			 next.agent);
		p->took = true;
	}
	return order;
}

static void agents_take_turns_whoever_came_first(void **state)
{
	struct run_pick p = {.agent = ""};

	(void)state;
	for (int i = 0; i < 3; i++)
		put_one("a", NULL);
	put_one("b", NULL);
	put_one("c", NULL);
	assert_string_equal(list_detach(&p, 2), "a b");
	/* the turn goes on where it was */
	assert_string_equal(list_detach(&p, 9), "c a a");
}

static void a_higher_priority_goes_first(void **state)
{
	struct run_request high = request_for("z", NULL);
	struct run_pick p = {.agent = ""};

	(void)state;
	put_one("a", NULL);
	high.priority = 5;
	put_run(&high);
	assert_string_equal(list_detach(&p, 9), "z a");
}

static void an_agent_that_is_passed_over_stops_nobody(void **state)
{
	struct run_pick p = {.agent = ""};
	struct run_next_row next;
	char seen[64] = "";

	(void)state;
	put_one("a", NULL);
	put_one("b", NULL);
	run_pick_begin(&p);
	for (int i = 0; i < 9 && run_pick_next(db, &p, &next, &arena, &e) == 1;
	     i++) {
		if (!strcmp(next.agent, "a"))
			continue;
		assert_int_equal(change_run_state(next.id, RUN_STARTING), 0);
		p.took = true;
		snprintf(seen, sizeof seen, "%s", next.agent);
	}
	assert_string_equal(seen, "b");
	assert_string_equal(list_detach(&p, 9), "a");
}

static void a_session_runs_one_at_a_time_in_order(void **state)
{
	struct id one = put_one("a", "s"), two = put_one("a", "s"),
		  three = put_one("a", "s");
	struct run_pick p = {.agent = ""};

	(void)state;
	assert_string_equal(list_detach(&p, 9), "a");
	assert_string_equal(get_run(one.text).state, "starting");
	assert_int_equal(change_run_state(one.text, RUN_ENDING), 0);
	assert_string_equal(list_detach(&p, 9), "");
	assert_int_equal(change_run_state(one.text, RUN_SUCCEEDED), 0);
	/* the second leaves the line before its turn */
	assert_int_equal(change_run_state(two.text, RUN_CANCELLED), 0);
	assert_string_equal(list_detach(&p, 9), "a");
	assert_string_equal(get_run(three.text).state, "starting");
}

static void a_full_line_and_the_policy_reject_turn_a_run_away(void **state)
{
	struct run_request a = request_for("a", "s");
	struct run_made made;

	(void)state;
	put_run(&a);
	a.policy = "reject";
	assert_int_equal(run_enqueue(db, &a, 0, &made, &e), -1);
	assert_int_equal(e.code, ERR_CONFLICT);
	assert_non_null(strstr(e.text, "run_in_flight"));
	a.policy = "queue";
	put_run(&a);
	put_run(&a);
	assert_int_equal(run_enqueue(db, &a, 0, &made, &e), -1);
	assert_int_equal(e.code, ERR_RATELIMIT);
}

static void an_interrupting_run_stands_first_and_names_who_gives_way(
	void **state)
{
	struct run_request a = request_for("a", "s");
	struct id one = put_run(&a).id, two = put_run(&a).id;
	struct run_made urgent;
	struct run_pick p = {.agent = ""};

	(void)state;
	list_detach(&p, 9);
	a.policy = "interrupt";
	urgent = put_run(&a);
	assert_string_equal(urgent.interrupt, one.text);
	assert_int_equal(change_run_state(one.text, RUN_ENDING), 0);
	assert_int_equal(change_run_state(one.text, RUN_CANCELLED), 0);
	list_detach(&p, 9);
	assert_string_equal(get_run(urgent.id.text).state, "starting");
	assert_string_equal(get_run(two.text).state, "queued");
}

static void a_known_key_gives_the_first_run_and_other_content_a_conflict(
	void **state)
{
	struct run_request a = request_for("a", NULL);
	struct run_made one, two;

	(void)state;
	a.idem_key = "k";
	one = put_run(&a);
	two = put_run(&a);
	assert_true(one.is_new);
	assert_false(two.is_new);
	assert_string_equal(one.id.text, two.id.text);
	a.prompt = "something else";
	assert_int_equal(run_enqueue(db, &a, 0, &two, &e), -1);
	assert_int_equal(e.code, ERR_CONFLICT);
}

static void runs_start_runs_only_so_deep(void **state)
{
	struct run_request a = request_for("a", NULL);
	struct id parent = put_run(&a).id;
	struct run_made made;

	(void)state;
	for (int depth = 1; depth <= 2; depth++) {
		a.parent = arena_text(&arena, parent.text);
		parent = put_run(&a).id;
		assert_int_equal(get_run(parent.text).depth, depth);
	}
	a.parent = parent.text;
	assert_int_equal(run_enqueue(db, &a, 0, &made, &e), -1);
	assert_int_equal(e.code, ERR_INVALID);
	a.parent = "run_nobody";
	assert_int_equal(run_enqueue(db, &a, 0, &made, &e), -1);
	assert_int_equal(e.code, ERR_NOTFOUND);
}

static void a_delayed_run_holds_nobody_up_and_comes_when_it_is_due(void **state)
{
	struct run_request a = request_for("a", "s");
	struct run_next_alarm_row at;
	struct run_pick p = {.agent = ""};
	struct id late;

	(void)state;
	a.delay_ms = 500;
	late = put_run(&a).id;
	a.delay_ms = 0;
	put_run(&a);
	assert_string_equal(list_detach(&p, 9), "a");
	assert_string_equal(get_run(late.text).state, "queued");
	assert_int_equal(sql_get(db, Q_RUN_NEXT_ALARM, NULL, &at, NULL, &e), 1);
	assert_int_equal(at.at, 1500);
	assert_int_equal(run_wake(db, 1499, &arena, &e), 0);
	assert_int_equal(run_wake(db, 1500, &arena, &e), 1);
	assert_string_equal(list_detach(&p, 9), ""); /* the session is busy */
}

static void a_run_that_goes_back_keeps_its_place_until_it_is_due(void **state)
{
	struct id one = put_one("a", "s");
	struct run_pick p = {.agent = ""};

	(void)state;
	put_one("a", "s");
	list_detach(&p, 9);
	assert_int_equal(change_run_state(one.text, RUN_ENDING), 0);
	assert_int_equal(change_run_state(one.text, RUN_QUEUED), 0);
	assert_string_equal(list_detach(&p, 9), "");
	assert_int_equal(run_wake(db, 5000, &arena, &e), 1);
	assert_string_equal(list_detach(&p, 9), "a");
	assert_string_equal(get_run(one.text).state, "starting");
}

static void a_move_from_a_state_that_was_left_changes_nothing(void **state)
{
	struct id one = put_one("a", NULL);
	struct run_transition m = {
		.id = one.text,
		.agent = "a",
		.session = one.text,
		.from = RUN_RUNNING,
		.to = RUN_ENDING,
		.reason = run_reason_hello,
		.due_at = OPT_NONE,
	};
	struct run_transition_row *rows;

	(void)state;
	assert_int_equal(run_change_state(db, &m, &e), -1);
	assert_int_equal(e.code, ERR_CONFLICT);
	assert_string_equal(get_run(one.text).state, "queued");
	assert_int_equal(sql_collect(db, Q_RUN_TRANSITION_LIST,
				     &(struct run_transition_list_in){one.text},
				     10, &rows, &arena, &e),
			 1);
	assert_null(rows[0].from_state);
	assert_string_equal(rows[0].to_state, "queued");
}

static void a_reason_that_nobody_knows_is_refused(void **state)
{
	struct id one = put_one("a", NULL);
	struct run_transition m = {
		.id = one.text,
		.agent = "a",
		.session = one.text,
		.from = RUN_QUEUED,
		.to = RUN_STARTING,
		.reason = "because",
		.due_at = OPT_NONE,
	};

	(void)state;
	assert_int_equal(run_change_state(db, &m, &e), -1);
}

#define T(name) \
	cmocka_unit_test_setup_teardown(name, set_up_runs, tear_down_runs)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(agents_take_turns_whoever_came_first),
		T(a_higher_priority_goes_first),
		T(an_agent_that_is_passed_over_stops_nobody),
		T(a_session_runs_one_at_a_time_in_order),
		T(a_full_line_and_the_policy_reject_turn_a_run_away),
		T(an_interrupting_run_stands_first_and_names_who_gives_way),
		T(a_known_key_gives_the_first_run_and_other_content_a_conflict),
		T(runs_start_runs_only_so_deep),
		T(a_delayed_run_holds_nobody_up_and_comes_when_it_is_due),
		T(a_run_that_goes_back_keeps_its_place_until_it_is_due),
		T(a_move_from_a_state_that_was_left_changes_nothing),
		T(a_reason_that_nobody_knows_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
