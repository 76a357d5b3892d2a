#include "schema/control/registry.h"
#include "supervisor/run/budget.h"
#include "supervisor/run/internal.h"
#include "supervisor/run/worker_request.h"

#include "lib/base/backoff.h"
#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/mark.h"

#include <string.h>

#define BACKOFF_MAX_MS (10 * 60 * 1000)

/* The run as it was before a transition that may be rolled back. */
struct run_before {
	struct supervisor *sup;
	char id[ID_SIZE];
	enum run_state state;
	enum run_pending_state pending_state;
	char reason[64];
	const char *detail;
};

static void restore_run(void *arg)
{
	const struct run_before *b = arg;
	struct active_run *l = active_run_find(&b->sup->runs->active, b->id);

	if (!l)
		return;
	l->state = b->state;
	l->pending_state = b->pending_state;
	active_run_set_reason(l, b->reason, b->detail);
}

static void save_for_rollback(struct active_run *l)
{
	struct txn *txn = &l->sup->txn;
	struct run_before *b = txn_alloc(txn, sizeof *b);

	*b = (struct run_before){.sup = l->sup,
				 .state = l->state,
				 .pending_state = l->pending_state,
				 .detail = txn_text(txn, l->detail)};
	memcpy(b->id, l->id, sizeof b->id);
	memcpy(b->reason, l->reason, sizeof b->reason);
	txn_on_rollback(txn, restore_run, b);
}

static void set_reason(struct active_run *l,
		       const struct transition_reason *why)
{
	active_run_set_reason(l, why->reason, why->detail);
	if (why->pending_state != RUN_PENDING_NONE)
		l->pending_state = why->pending_state;
}

static int64_t retry_time(const struct active_run *l)
{
	if (!strcmp(l->reason, "session_workspace"))
		return OPT_NONE; /* at once */
	return clock_now() +
	       backoff_next(l->attempt, l->backoff_ms, BACKOFF_MAX_MS);
}

static void mark_ended(void *arg, const struct err *failed)
{
	(void)arg;
	(void)failed;
	mark(MARK_ended);
}

int transition_apply(struct active_run *l, enum run_event event,
		     const struct transition_reason *why, struct err *e)
{
	struct run_fsm_transition st = run_fsm(l->state, event);
	struct run_transition req = {
		.id = l->id,
		.agent = l->agent,
		.session = l->session,
		.attempt = l->attempt,
		.from = l->state,
		.to = st.to,
		.now = clock_now(),
		.due_at = OPT_NONE,
	};

	if (!st.allowed)
		return err_set(e, ERR_CONFLICT, "run %s is %s", l->id,
			       run_state_name(l->state));
	if (txn_begin(&l->sup->txn, e))
		return -1;
	save_for_rollback(l);
	set_reason(l, why);
	if (run_state_is_over(st.to) || st.to == RUN_STARTING)
		l->pending_state = RUN_PENDING_NONE;
	if (st.to == RUN_QUEUED) {
		l->pending_state = RUN_PENDING_NONE;
		req.due_at = retry_time(l);
	}
	req.pending_state = l->pending_state;
	req.reason = l->reason;
	req.detail = l->detail;
	if (run_change_state(l->sup->db, &req, e))
		return -1;
	if ((run_state_is_over(st.to) || st.to == RUN_QUEUED) &&
	    (run_sandbox_drop(l, e) || idle_end_run(l, e)))
		return -1;
	if (budget_on_transition(l, l->state, st.to, e) ||
	    (run_state_is_over(st.to) &&
	     registry_measure(l->sup->db, l->agent, e)))
		return -1;
	l->state = st.to;
	if (run_state_is_over(st.to))
		waiting_check_later(l->sup);
	if (mark_file && run_state_is_over(st.to))
		txn_on_commit(&l->sup->txn, mark_ended, NULL);
	effect_defer(l, st.effect);
	if (run_state_is_over(st.to))
		send_hint(l->sup, &(struct hint){.kind = HINT_RUN_ENDED});
	return 0;
}

void transition_must_apply(struct active_run *l, enum run_event event,
			   const struct transition_reason *why)
{
	struct err e;

	if (transition_apply(l, event, why, &e))
		log_error(LT("msg", "transition of a run failed"),
			  LT("run", l->id), LT("event", run_event_name(event)),
			  LT("error", e.text));
}

int transition_apply_queued(struct supervisor *s, const struct run_row *row,
			    enum run_event event,
			    const struct transition_reason *why, struct err *e)
{
	enum run_state from = (enum run_state)run_state_from(row->state);
	struct run_fsm_transition st = run_fsm(from, event);
	struct run_transition req = {
		.id = row->id,
		.agent = row->agent,
		.session = row->session,
		.attempt = row->attempt,
		.from = from,
		.to = st.to,
		.reason = why->reason,
		.detail = why->detail,
		.now = clock_now(),
		.due_at = OPT_NONE,
	};

	if (!st.allowed)
		return err_set(e, ERR_CONFLICT, "run %s is %s", row->id,
			       row->state);
	if (txn_begin(&s->txn, e))
		return -1;
	s->runs->schedule = s->runs->alarm_stale = s->host_changed = true;
	waiting_check_later(s);
	if (run_state_is_over(st.to))
		send_hint(s, &(struct hint){.kind = HINT_RUN_ENDED});
	return run_change_state(s->db, &req, e);
}

/* How often a run is queued again because its worker did not start. */
#define NEVER_STARTED_MAX 3

bool worker_never_started(struct active_run *l, const char *reason)
{
	struct run_count_never_started_in in = {l->id};
	struct run_count_never_started_row row = {0};
	struct err e;

	return (!strcmp(reason, run_reason_spawn_failed) ||
		!strcmp(reason, run_reason_start_timeout)) &&
	       sql_get(l->sup->db, Q_RUN_COUNT_NEVER_STARTED, &in, &row, NULL,
		       &e) == 1 &&
	       row.count < NEVER_STARTED_MAX;
}

void transition_worker_gone(struct active_run *l, const char *reason,
			    const char *detail)
{
	struct transition_reason why = {.reason = reason, .detail = detail};
	enum run_pending_state own_state = worker_never_started(l, reason)
						   ? RUN_PENDING_QUEUED
						   : run_pending_failed(
							     true, l->attempt,
							     l->max_attempts);

	if (l->state == RUN_ENDING) { /* the pending state is decided */
		exit_verify(l);
		return;
	}
	why.pending_state = run_pending_merge(l->pending_state, own_state);
	if (l->pending_state != RUN_PENDING_NONE) {
		why.reason = l->reason; /* of the requested end */
		why.detail = l->detail;
	}
	transition_must_apply(l, RUN_EV_LOST, &why);
}
