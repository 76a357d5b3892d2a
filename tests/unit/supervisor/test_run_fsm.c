/* The life of a run, over the whole table: supervisor/run/run_fsm.def. */
#include "supervisor/run/run_fsm.h"

#include "ipc/end_reason.h"
#include "schema/control/control.h"
#include "tests/support/temp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define EACH_STATE(s) (enum run_state s = 0; s < RUN_STATES; s++)
#define EACH_EVENT(v) (enum run_event v = 0; v < RUN_EVENT_COUNT; v++)

static void nothing_happens_to_a_run_that_is_over(void **state)
{
	(void)state;
	for
		EACH_STATE(s)
		for
			EACH_EVENT(v)
		if (run_state_is_over(s))
			assert_false(run_fsm(s, v).allowed);
}

static void only_a_proof_ends_a_run_that_has_lived(void **state)
{
	(void)state;
	for
		EACH_STATE(s)
		for
			EACH_EVENT(v)
			{
				struct run_fsm_transition m = run_fsm(s, v);

				if (!m.allowed || s == RUN_QUEUED)
					continue;
				if (run_state_is_over(m.to) ||
				    m.to == RUN_QUEUED) {
					assert_int_equal(s, RUN_ENDING);
					assert_true(v >= RUN_EV_GONE_SUCCEEDED);
				}
			}
}

static void a_dead_worker_never_leaves_a_run_hanging(void **state)
{
	(void)state;
	for
		EACH_STATE(s)
		{
			struct run_fsm_transition m = run_fsm(s, RUN_EV_LOST);

			if (!run_state_lives(s))
				continue;
			assert_true(m.allowed);
			assert_int_equal(m.to, RUN_ENDING);
			assert_int_equal(m.effect, RUN_EFFECT_VERIFY_EXIT);
		}
}

static void every_pending_state_leads_out_of_ending(void **state)
{
	(void)state;
	for (int v = RUN_PENDING_NONE; v < RUN_PENDING_STATES; v++) {
		struct run_fsm_transition m = run_fsm(
			RUN_ENDING, run_gone_event((enum run_pending_state)v));

		assert_true(m.allowed);
		assert_int_equal(m.effect, RUN_EFFECT_RELEASE);
		assert_int_equal(m.to == RUN_QUEUED, v == RUN_PENDING_QUEUED);
	}
}

static void a_cancel_is_taken_wherever_a_run_is_not_over(void **state)
{
	(void)state;
	for
		EACH_STATE(s)
	assert_int_equal(run_fsm(s, RUN_EV_CANCEL).allowed,
			 !run_state_is_over(s));
	assert_int_equal(run_fsm(RUN_QUEUED, RUN_EV_CANCEL).to, RUN_CANCELLED);
}

static void a_worker_that_comes_back_changes_no_state(void **state)
{
	(void)state;
	for
		EACH_STATE(s)
		{
			struct run_fsm_transition m = run_fsm(s, RUN_EV_HELLO);

			if (run_state_lives(s) && s != RUN_STARTING)
				assert_int_equal(m.to, s);
		}
}

/* Adds every state that allowed events lead to, until nothing is added. */
static void reach(bool seen[RUN_STATES])
{
	bool more = true;

	while (more) {
		more = false;
		for
			EACH_STATE(s)
			for
				EACH_EVENT(v)
				{
					struct run_fsm_transition m = run_fsm(
						s, v);

					if (!seen[s] || !m.allowed ||
					    seen[m.to])
						continue;
					seen[m.to] = more = true;
				}
	}
}

static void every_state_is_reached_and_every_live_one_can_end(void **state)
{
	bool seen[RUN_STATES] = {false};

	(void)state;
	seen[RUN_QUEUED] = true;
	reach(seen);
	for
		EACH_STATE(s)
		{
			bool from[RUN_STATES] = {false};

			assert_true(seen[s]);
			from[s] = true;
			reach(from);
			assert_true(from[RUN_FAILED] || run_state_is_over(s));
		}
}

static void a_wish_wins_over_failure_but_not_over_success(void **state)
{
	(void)state;
	assert_int_equal(
		run_pending_merge(RUN_PENDING_CANCELLED, RUN_PENDING_FAILED),
		RUN_PENDING_CANCELLED);
	assert_int_equal(
		run_pending_merge(RUN_PENDING_CANCELLED, RUN_PENDING_SUCCEEDED),
		RUN_PENDING_SUCCEEDED);
	assert_int_equal(
		run_pending_merge(RUN_PENDING_NONE, RUN_PENDING_QUEUED),
		RUN_PENDING_QUEUED);
	assert_int_equal(
		run_pending_request(RUN_PENDING_QUEUED, RUN_PENDING_CANCELLED),
		RUN_PENDING_CANCELLED);
	assert_int_equal(run_pending_request(RUN_PENDING_TIMED_OUT,
					     RUN_PENDING_CANCELLED),
			 RUN_PENDING_TIMED_OUT);
}

static void attempts_end(void **state)
{
	(void)state;
	assert_int_equal(run_pending_failed(true, 1, 2), RUN_PENDING_QUEUED);
	assert_int_equal(run_pending_failed(true, 2, 2), RUN_PENDING_FAILED);
	assert_int_equal(run_pending_failed(false, 1, 2), RUN_PENDING_FAILED);
}

/* The migration's CHECK lists the same words as run_state.def. */
static void the_table_takes_the_states_that_c_knows_and_no_other(void **state)
{
	struct temp dir;
	struct home home;
	struct sql *db;
	struct err e;
	char text[512];

	(void)state;
	temp_make(&dir);
	assert_int_equal(home_find(&home, temp_join(&dir, "home"), &e), 0);
	assert_int_equal(control_open(&db, &home, SQL_CREATE, &e), 0);
	assert_int_equal(run_reasons_seed(db, &e), 0);
	for (int i = 0; i <= RUN_STATES; i++) {
		const char *word = i < RUN_STATES
					   ? run_state_name((enum run_state)i)
					   : "dreaming";
		int rc;

		snprintf(text, sizeof text,
			 "INSERT INTO run (id, agent, session, state, reason,"
			 " backoff_ms, grace_ms, submitted_by, created_at)"
			 " VALUES ('run_%d', 'a', 's', '%s', 'accepted',"
			 " 0, 0, 't', 0)",
			 i, word);
		rc = sql_script(db, text, &e);
		assert_int_equal(rc, i < RUN_STATES ? 0 : -1);
	}
	assert_int_equal(run_state_from("dreaming"), -1);
	sql_close(db);
	temp_remove(&dir);
}

/* One vocabulary in two files: no word stands in both. */
static void no_reason_has_two_meanings(void **state)
{
	static const char *const ours[] = {
#define RUN_REASON(code, word) #code,
#include "schema/control/run_reason.def"
#undef RUN_REASON
	};

	(void)state;
	for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++)
		assert_int_equal(reason_from(ours[i]), REASONS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_happens_to_a_run_that_is_over),
		cmocka_unit_test(only_a_proof_ends_a_run_that_has_lived),
		cmocka_unit_test(a_dead_worker_never_leaves_a_run_hanging),
		cmocka_unit_test(every_pending_state_leads_out_of_ending),
		cmocka_unit_test(a_cancel_is_taken_wherever_a_run_is_not_over),
		cmocka_unit_test(a_worker_that_comes_back_changes_no_state),
		cmocka_unit_test(
			every_state_is_reached_and_every_live_one_can_end),
		cmocka_unit_test(a_wish_wins_over_failure_but_not_over_success),
		cmocka_unit_test(attempts_end),
		cmocka_unit_test(
			the_table_takes_the_states_that_c_knows_and_no_other),
		cmocka_unit_test(no_reason_has_two_meanings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
