#include "supervisor/run/internal.h"

#include "ipc/end_reason.h"
#include "lib/base/log.h"

#include <stdlib.h>
#include <string.h>

/*
 * The report of a worker that its attempt is over. The worker has committed the
 * end to the agent file, all its processes have exited, and it exits as soon as
 * it is answered. So the answer does not wait for a commit: the report is kept
 * in memory until the process exits, and the end of the run is one commit. If
 * skepd dies before that, the agent file says the same (reconcile.c).
 */
/* if the worker takes longer, the run becomes `ending` */
#define EXIT_WAIT_MS 100

struct end_report {
	enum run_pending_state pending_state;
	int64_t seq, exit_code, signal;
	bool in_file;
	char reason[64];
	char *detail; /* or NULL */
};

static char *copy_text(const char *text)
{
	char *out = text ? strdup(text) : NULL;

	if (text && !out)
		abort();
	return out;
}

/* The state that follows from the report. */
static enum run_pending_state reported_state(const struct active_run *l,
					     const struct msg_finished *f)
{
	enum reason r = reason_from(f->reason);

	if (!strcmp(f->outcome, "succeeded"))
		return RUN_PENDING_SUCCEEDED;
	if (!strcmp(f->outcome, "cancelled"))
		return RUN_PENDING_CANCELLED;
	if (!strcmp(f->outcome, "timed_out"))
		return RUN_PENDING_TIMED_OUT;
	if (r == REASON_stopped || r == REASON_supervisor_lost ||
	    r == REASON_session_workspace)
		return RUN_PENDING_QUEUED; /* not the fault of the run */
	return run_pending_failed(r < REASONS && reason_is_retryable(r),
				  l->attempt, l->max_attempts);
}

/* Is the end in the agent file? Not if the worker could not or was not allowed
 * to commit it. */
static bool is_in_file(const char *reason)
{
	enum reason r = reason_from(reason);

	return r != REASON_database && r != REASON_internal &&
	       r != REASON_stale && r != REASON_refused;
}

static struct end_report *report_new(const struct active_run *l,
				     const struct msg_finished *f)
{
	struct end_report *w = calloc(1, sizeof *w);

	if (!w)
		abort();
	*w = (struct end_report){.pending_state = reported_state(l, f),
				 .seq = f->seq,
				 .exit_code = f->exit_code,
				 .signal = f->signal,
				 .in_file = is_in_file(f->reason),
				 .detail = copy_text(f->detail)};
	snprintf(w->reason, sizeof w->reason, "%s", f->reason);
	return w;
}

void active_run_clear_report(struct active_run *l)
{
	if (l->report)
		free(l->report->detail);
	free(l->report);
	l->report = NULL;
}

/* The worker has not begun: the run starts again, in what its session names. */
static int set_session_workspace(const struct active_run *l, struct err *e)
{
	struct run_set_session_workspace_in in = {
		l->id, l->report->detail ? l->report->detail : ""};

	if (reason_from(l->report->reason) != REASON_session_workspace)
		return 0;
	return sql_exec(l->sup->db, Q_RUN_SET_SESSION_WORKSPACE, &in, e) < 0
		       ? -1
		       : 0;
}

static int apply_report(struct active_run *l, struct err *e)
{
	const struct end_report *w = l->report;
	struct run_set_report_in report = {l->id, w->seq, w->exit_code,
					   w->signal};
	struct transition_reason why = {.reason = w->reason,
					.detail = w->detail};

	why.pending_state = run_pending_merge(l->pending_state,
					      w->pending_state);
	if (why.pending_state ==
	    l->pending_state) { /* the requested end, with its reason */
		why.reason = l->reason;
		why.detail = l->detail;
	}
	if (txn_begin(&l->sup->txn, e) ||
	    sql_exec(l->sup->db, Q_RUN_SET_REPORT, &report, e) < 0 ||
	    set_session_workspace(l, e) ||
	    transition_apply(l, RUN_EV_FINISH, &why, e))
		return -1;
	l->reconciled = w->in_file; /* otherwise the file decides */
	if (w->seq > l->last_seq)
		l->last_seq = w->seq;
	return 0;
}

int run_finish(struct active_run *l, struct err *e)
{
	int rc;

	txn_try_begin(&l->sup->txn);
	rc = txn_try_end(&l->sup->txn, apply_report(l, e), e);
	active_run_clear_report(l);
	return rc;
}

static bool exits_by_itself(const struct active_run *l,
			    const struct msg_finished *f)
{
	return f->idle_ms == OPT_NONE && l->pidfd >= 0 && !l->exited;
}

int run_on_finished(struct active_run *l, const struct msg_finished *f,
		    bool *at_once, struct err *e)
{
	*at_once = false;
	if (reason_from(f->reason) == REASONS)
		return err_set(e, ERR_PROTOCOL, "%s is not a reason",
			       f->reason);
	if (l->state == RUN_ENDING)
		return 0;
	active_run_clear_report(l);
	l->report = report_new(l, f);
	if (f->idle_ms != OPT_NONE)
		l->idle_ms = f->idle_ms;
	if (!exits_by_itself(l, f) || !l->report->in_file)
		return run_finish(l, e);
	*at_once = true;
	active_run_set_alarm(l, EXIT_WAIT_MS);
	return 0;
}
