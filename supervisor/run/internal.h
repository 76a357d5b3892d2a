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
	struct ipc_server *ipc; /* of the workers */
	uv_poll_t ipc_poll;
	uv_timer_t alarm; /* the queue's next moment */
	uv_timer_t retry; /* reading the rows again after a failure */
	struct run_watch *host_watches;
	bool schedule;    /* a queued run may start now */
	bool alarm_stale; /* the queue's next moment may have changed */
};

/* Why a run moves. pending_state: the state that is to follow, if it is new. */
struct transition_reason {
	const char *reason;
	const char *detail; /* or NULL */
	enum run_pending_state pending_state;
};

/* run/transition.c: the event's row of the table, in the transaction.
 * ERR_CONFLICT if it has none in the run's state; then nothing is changed. */
int transition_apply(struct active_run *l, enum run_event event,
		     const struct transition_reason *why, struct err *e);

/* The same for a run that waits in the queue. */
int transition_apply_queued(struct supervisor *s, const struct run_row *row,
			    enum run_event event,
			    const struct transition_reason *why, struct err *e);

/* A move that cannot be refused; a failure of the database ends the transaction. */
void transition_must_apply(struct active_run *l, enum run_event event,
			   const struct transition_reason *why);

/* The worker is over, or must be ended: retry or end is decided here. */
void transition_worker_gone(struct active_run *l, const char *reason,
			    const char *detail);

/* Is this the reason of a worker that never came to life? Then the attempt will
 * not count, unless the agent's file has it, or there were too many of them. */
bool worker_never_started(struct active_run *l, const char *reason);

/* run/commands.c */
void active_run_stop(struct active_run *l,
		     const char *by); /* to be run again */

/* run/effects.c */
void effect_defer(struct active_run *l,
		  enum run_effect effect);      /* after the commit */
void spawn_before_commit(struct active_run *l); /* before it */
void active_run_on_alarm(struct active_run *l);
void active_run_on_exit(struct active_run *l);
void record_worker_pid(struct active_run *l); /* in its rows */
const char *exit_reason_of(const struct active_run *l);
void exit_verify(struct active_run *l);

/* run/finish.c: the worker's word that it is over; at_once: the answer needs no
 * commit. run_finish acts on the word that is kept in l->report. */
int run_on_finished(struct active_run *l, const struct msg_finished *f,
		    bool *at_once, struct err *e);
int run_finish(struct active_run *l, struct err *e);

/* run/reconcile.c: reads what a dead worker committed, in a thread; then
 * reconcile_done. */
void reconcile_begin(struct active_run *l);
bool reconcile_is_late(
	struct active_run *l); /* whether it goes on without it */

/* run/scheduler.c */
void schedule_runs(struct supervisor *s);
void queue_set_alarm(struct supervisor *s);

/* run/sandbox.c: rows of those that there are, and what the host can offer. */
int run_sandbox_make(struct active_run *l, const struct sandbox_spec *spec,
		     struct err *e);
int run_sandbox_drop(struct active_run *l, struct err *e);
void run_sandbox_log_missing(
	struct supervisor *s); /* to the log, what is missing */

/* run/start.c: makes a queued run live and starting: 0. 1: it must wait until what
 * is idle has made room. */
int start_queued_run(struct supervisor *s, const char *id, int64_t agent_limit,
		     struct err *e);

/* run/messages.c */
int messages_open(struct supervisor *s, struct err *e);
void messages_close(struct supervisor *s);

/* run/watch.c */
void notify_run_watchers(struct active_run *l); /* news of this run */
void watches_move_to_host(
	struct active_run *l); /* the run is no longer active */

/* run/recovery.c */
int recover_runs(struct supervisor *s, struct err *e);

/* run/approval.c */
int approval_on_request(struct active_run *l, const struct msg_approval *m,
			struct err *e);
void approvals_expire(struct supervisor *s);

#endif
