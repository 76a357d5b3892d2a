#ifndef SUPERVISOR_RUN_INTERNAL_H
#define SUPERVISOR_RUN_INTERNAL_H

#include "ipc/server.h"
#include "supervisor/core/supervisor.h"
#include "supervisor/run/active.h"
#include "supervisor/run/idle.h"
#include "supervisor/run/prefork.h"
#include "supervisor/run/run.h"
#include "supervisor/run/run_fsm.h"

/* What the files of supervisor/run/ share. */
struct runs {
	struct active_runs active;
	struct idle_workers idle;
	struct prefork_pool prefork;
	struct run_pick pick;
	struct ipc_server *ipc; /* socket of the workers */
	uv_poll_t ipc_poll;
	uv_timer_t alarm; /* timer of the queue: due times and time-outs */
	/* uv_now before which it does not fire, after a failure */
	uint64_t alarm_after_ms;
	uv_timer_t retry; /* reloads the rows after a failed commit */
	struct run_watch *host_watches;
	struct waiting *waiting;          /* requests of runs: waiting.c */
	struct budget_wait *budget_waits; /* reservations of paused runs */
	bool has_budgets;
	bool schedule;    /* a queued run may start now */
	bool alarm_stale; /* the timer of the queue must be set again */
};

/* The reason of a transition. pending_state: the final state, if it was decided
 * now. */
struct transition_reason {
	const char *reason;
	const char *detail; /* or NULL */
	enum run_pending_state pending_state;
};

/* run/transition.c: applies an event to an active run, in the transaction.
 * ERR_CONFLICT, without a change, if run_fsm.def does not allow it. */
int transition_apply(struct active_run *l, enum run_event event,
		     const struct transition_reason *why, struct err *e);

/* The same for a queued run. */
int transition_apply_queued(struct supervisor *s, const struct run_row *row,
			    enum run_event event,
			    const struct transition_reason *why, struct err *e);

/* Applies an event that is always allowed. A failure of the database is logged,
 * and fails the transaction. */
void transition_must_apply(struct active_run *l, enum run_event event,
			   const struct transition_reason *why);

/* The worker exited or must be killed: decides whether the run is retried. */
void transition_worker_gone(struct active_run *l, const char *reason,
			    const char *detail);

/* Is this the reason of a worker that never started? Then the attempt does not
 * count, unless the agent file contains it or it happened too often. */
bool worker_never_started(struct active_run *l, const char *reason);

/* run/commands.c: finds the row of a run (ERR_NOTFOUND); adds the row of a
 * command; writes the body {key: text} of one. */
int run_find(struct supervisor *s, const char *id, struct run_row *row,
	     struct arena *a, struct err *e);
int command_add(struct supervisor *s, const char *run, const char *verb,
		const char *body, const char *by, struct err *e);
void command_text(struct buf *b, const char *key, const char *text);

/* run/cancel.c: cancels the run and its child runs. Returns 1, 0 if the run has
 * ended or is being ended, or -1. */
int run_cancel_tree(struct supervisor *s, const char *id, const char *reason,
		    const char *detail, const char *by, struct err *e);
/* Stops the run, which is queued again. */
void active_run_stop(struct active_run *l, const char *by);

/* run/effects.c */
void effect_defer(struct active_run *l,
		  enum run_effect effect);      /* applied after the commit */
void spawn_before_commit(struct active_run *l); /* before the commit */
void active_run_on_alarm(struct active_run *l);
void active_run_on_exit(struct active_run *l);
void record_worker_pid(struct active_run *l); /* to the rows */
const char *exit_reason_of(const struct active_run *l);
void exit_verify(struct active_run *l);

/* run/finish.c: handles the report of the end. *at_once: the answer need not
 * wait for the commit. run_finish applies the report that is kept in
 * l->report. */
int run_on_finished(struct active_run *l, const struct msg_finished *f,
		    bool *at_once, struct err *e);
int run_finish(struct active_run *l, struct err *e);

/* run/reconcile.c: reads in a thread what a dead worker committed, then
 * continues with exit_verify. reconcile_is_late: the time is up; returns
 * whether the run ends without the result. */
void reconcile_begin(struct active_run *l);
bool reconcile_is_late(struct active_run *l);

/* run/scheduler.c */
void schedule_runs(struct supervisor *s);
void queue_set_alarm(struct supervisor *s);

/* run/sandbox.c: adds and deletes the row of a run's sandbox. */
int run_sandbox_make(struct active_run *l, const struct sandbox_spec *spec,
		     struct err *e);
int run_sandbox_drop(struct active_run *l, struct err *e);
/* Logs which parts of a sandbox are not available on this host. */
void run_sandbox_log_missing(struct supervisor *s);

/* run/start.c: starts a queued run, or ends it if it can never start (0).
 * Otherwise it waits until an idle worker was evicted, or until another run
 * leaves its workspace. */
enum { START_WAITS = 1, START_BLOCKED = 2 };
int start_queued_run(struct supervisor *s, const char *id, int64_t agent_limit,
		     struct err *e);

/* run/messages.c */
int messages_open(struct supervisor *s, struct err *e);
void messages_close(struct supervisor *s);

/* run/watch.c */
void notify_run_watchers(struct active_run *l); /* the run changed */
/* The run is no longer active: its watchers watch the host. */
void watches_move_to_host(struct active_run *l);

/* run/recovery.c */
int recover_runs(struct supervisor *s, struct err *e);

/* run/approval.c */
int approval_on_request(struct active_run *l, const struct msg_approval *m,
			struct err *e);
/* Expires each approval that is due and can be changed; -1 if one cannot. */
int approvals_expire(struct supervisor *s);

#endif
