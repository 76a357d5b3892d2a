/* Cancelling: one run with its child runs, or all runs that match a filter. */
#include "supervisor/run/internal.h"

#include "lib/base/buf.h"
#include "lib/base/log.h"
#include "lib/base/text.h"
#include "schema/control/agent.h"

#include <string.h>

#define OPEN_RUNS_MAX 1000000

/* Requests the end of a run in any state that has a process. */
static int request_end(struct active_run *l,
		       const struct transition_reason *why, const char *verb,
		       const char *by, struct err *e)
{
	enum run_event event = why->pending_state == RUN_PENDING_QUEUED
				       ? RUN_EV_STOP
				       : RUN_EV_CANCEL;
	bool already_requested = l->state == RUN_STOPPING ||
				 l->state == RUN_ENDING;
	struct buf body = BUF_MAX(1024);
	int rc = 0;

	command_text(&body, "reason", why->detail ? why->detail : why->reason);
	if (!already_requested)
		rc = command_add(l->sup, l->id, verb, body.p, by, e);
	if (rc == 0)
		rc = transition_apply(l, event, why, e);
	buf_fini(&body);
	return rc;
}

/* Returns 1, or 0 if the run is already being ended. */
static int cancel_active(struct active_run *l, const char *reason,
			 const char *detail, const char *by, struct err *e)
{
	struct transition_reason why = {.reason = reason, .detail = detail};

	why.pending_state = run_pending_request(l->pending_state,
						RUN_PENDING_CANCELLED);
	if (why.pending_state == l->pending_state)
		return 0;
	return request_end(l, &why, "cancel", by, e) ? -1 : 1;
}

static int cancel_one(struct supervisor *s, const char *id, const char *reason,
		      const char *detail, const char *by, struct err *e)
{
	struct active_run *l = active_run_find(&s->runs->active, id);
	struct transition_reason why = {.reason = reason, .detail = detail};
	struct arena a = {0};
	struct run_row row;
	int rc = run_find(s, id, &row, &a, e);

	if (rc == 0 && l)
		rc = cancel_active(l, reason, detail, by, e);
	else if (rc == 0 && !strcmp(row.state, "queued"))
		rc = transition_apply_queued(s, &row, RUN_EV_CANCEL, &why, e)
			     ? -1
			     : 1;
	arena_fini(&a);
	return rc;
}

int run_cancel_tree(struct supervisor *s, const char *id, const char *reason,
		    const char *detail, const char *by, struct err *e)
{
	struct run_descendants_in key = {id};
	struct run_descendants_row *rows;
	struct arena a = {0};
	int changed = cancel_one(s, id, reason, detail, by, e), n = 0;

	if (changed >= 0)
		n = sql_collect(s->db, Q_RUN_DESCENDANTS, &key, OPEN_RUNS_MAX,
				&rows, &a, e);
	for (int i = 0; i < n; i++)
		if (cancel_one(s, rows[i].id, run_reason_parent_cancelled, id,
			       by, e) < 0)
			n = -1; /* ends the loop */
	arena_fini(&a);
	return changed < 0 || n < 0 ? -1 : changed;
}

/* The run has ended, but its idle worker can be ended. */
static const char *cancel_idle(struct supervisor *s, const char *run)
{
	struct idle_worker *w = idle_find(s, run);

	if (!w)
		return "already ended or being stopped";
	idle_evict(w);
	return "already ended; its idle agent is being stopped";
}

static int cancel_by_request(struct supervisor *s, const char *run,
			     const char *why, const char *by,
			     struct completion done, struct err *e)
{
	int changed;

	if (why && text_check_key("reason", why, 200, e))
		return -1;
	if (txn_begin(&s->txn, e))
		return -1;
	changed = run_cancel_tree(s, run, "cancelled", why, by, e);
	if (changed < 0)
		return -1;
	complete_later(s, done, run, changed == 1,
		       changed ? "it is being cancelled" : cancel_idle(s, run));
	return 0;
}

int supervisor_cancel_run(struct supervisor *s, const char *run,
			  const char *why, const char *by,
			  struct completion done, struct err *e)
{
	txn_try_begin(&s->txn);
	return txn_try_end(&s->txn, cancel_by_request(s, run, why, by, done, e),
			   e);
}

void active_run_stop(struct active_run *l, const char *by)
{
	struct transition_reason why = {.reason = "stopped",
					.pending_state = RUN_PENDING_QUEUED};
	struct err e;

	if (l->pending_state != RUN_PENDING_NONE)
		return;
	txn_try_begin(&l->sup->txn);
	if (txn_try_end(&l->sup->txn, request_end(l, &why, "stop", by, &e), &e))
		log_error(LT("msg", "cannot stop a run"), LT("run", l->id),
			  LT("error", e.text));
}

/* --- all runs of an agent, a session, a tag or the home --------------------- */

static int check_filter(struct supervisor *s, const struct cancel_filter *f,
			struct err *e)
{
	struct arena a = {0};
	struct agent_row agent;
	int found = 1;

	if (f->all == (f->agent || f->tag))
		return err_set(e, ERR_INVALID,
			       "name an agent or a tag, or set all");
	if (f->session && !f->agent)
		return err_set(e, ERR_INVALID,
			       "a session needs the name of its agent");
	if (f->reason && text_check_key("reason", f->reason, 200, e))
		return -1;
	if (f->agent)
		found = supervisor_agent_read(s, f->agent, &agent, &a, e);
	if (found == 0)
		found = agents_missing(s->db, f->agent, e);
	arena_fini(&a);
	return found < 0 ? -1 : 0;
}

static void count_note(struct buf *b, int runs)
{
	if (runs == 0)
		buf_adds(b, "no run matches");
	else
		buf_addf(b, "%d run%s being cancelled", runs,
			 runs == 1 ? " is" : "s are");
}

/* All in one transaction. No run starts in between: the scheduler runs after
 * the commands of a turn. */
static int cancel_matching(struct supervisor *s, const struct cancel_filter *f,
			   const char *by, struct completion done,
			   struct err *e)
{
	struct run_cancellable_in in = {f->agent, f->session, f->tag};
	struct buf note = BUF_MAX(64);
	struct run_cancellable_row *rows;
	struct arena a = {0};
	int cancelled = 0, n, changed = 0;

	if (check_filter(s, f, e) || txn_begin(&s->txn, e))
		return -1;
	n = sql_collect(s->db, Q_RUN_CANCELLABLE, &in, OPEN_RUNS_MAX, &rows, &a,
			e);
	for (int i = 0; changed >= 0 && i < n; i++) {
		const char *why = rows[i].is_child ? run_reason_parent_cancelled
						   : "cancelled";

		changed = cancel_one(s, rows[i].id, why, f->reason, by, e);
		cancelled += changed > 0;
	}
	arena_fini(&a);
	if (n < 0 || changed < 0)
		return -1;
	count_note(&note, cancelled);
	complete_later(s, done, "", cancelled > 0, note.p);
	buf_fini(&note);
	return 0;
}

int supervisor_cancel_runs(struct supervisor *s, const struct cancel_filter *f,
			   const char *by, struct completion done,
			   struct err *e)
{
	txn_try_begin(&s->txn);
	return txn_try_end(&s->txn, cancel_matching(s, f, by, done, e), e);
}
