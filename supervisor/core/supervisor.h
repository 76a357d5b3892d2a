#ifndef SUPERVISOR_CORE_SUPERVISOR_H
#define SUPERVISOR_CORE_SUPERVISOR_H

#include "ipc/server.h"
#include "schema/config.h"
#include "schema/home.h"
#include "schema/watchdog_record.h"
#include "supervisor/core/agent_work.h"
#include "supervisor/core/commands.h"
#include "supervisor/core/jobs.h"
#include "supervisor/core/memory_trim.h"
#include "supervisor/core/txn.h"
#include "supervisor/process/processes.h"
#include "supervisor/process/spawner.h"
#include "supervisor/run/active.h"
#include "supervisor/run/idle.h"
#include "supervisor/run/prefork.h"
#include "supervisor/run/run_fsm.h"

#include <uv.h>

/*
 * The inside of skepd: one object, one loop, one writer of skep.sqlite. Private
 * to supervisor/; other callers use commands.h. The functions below are in
 * supervisor/run/, one file for each comment, unless the comment names another.
 */
struct supervisor {
	uv_loop_t loop;
	struct home home;
	int home_lock; /* see home_lock */
	struct config config;
	struct watchdog_record watchdog; /* all 0 without one */
	struct sql *db;
	struct txn txn;
	struct agent_threads *agent_threads;
	struct ipc_server *ipc;
	uv_poll_t ipc_poll;
	struct spawn spawn;
	struct prefork_pool prefork;
	struct api *api;
	struct jobs jobs;
	struct retention *retention;
	struct channel_delete_job *channel_delete;
	struct channels *channels;
	struct tree_place place;
	struct active_runs active;
	struct idle_workers idle;
	struct run_pick pick;
	struct run_watch *host_watches;
	uv_timer_t alarm; /* the queue's next moment */
	uv_timer_t tick;  /* every second */
	uv_timer_t retry; /* reading the rows again after a failure */
	uv_signal_t signals[2];
	int64_t epoch, started_at;
	char boot_id[40];
	bool schedule;     /* somebody may start now */
	bool alarm_stale;  /* the queue's next moment may have changed */
	bool host_changed; /* the host's log has news */
	bool stopping;     /* starts nothing more */
	bool read_only;    /* there was no space to start: see full_disk.h */
	bool again;        /* there is space now */
	bool ended;        /* the loop is to end */
	int64_t ticks;
	bool trimming; /* the host's log has more rows to remove */
	struct memory_cache cache;
};

/* Why a run moves. pending_state: the state that is to follow, if it is new. */
struct why {
	const char *reason;
	const char *detail; /* or NULL */
	enum run_pending_state pending_state;
};

/* run/transition.c: the event's row of the table, in the transaction.
 * ERR_CONFLICT if it has none in the run's state; then nothing is changed. */
int transition_apply(struct active_run *l, enum run_event event,
		     const struct why *why, struct err *e);

/* The same for a run that waits in the queue. */
int transition_apply_queued(struct supervisor *s, const struct run_row *row,
			    enum run_event event, const struct why *why,
			    struct err *e);

/* A move that cannot be refused; a failure of the database ends the transaction. */
void transition_must_apply(struct active_run *l, enum run_event event,
			   const struct why *why);

/* The worker is over, or must be ended: retry or end is decided here. */
void transition_worker_gone(struct active_run *l, const char *reason,
			    const char *detail);

/* Is this the reason of a worker that never came to life? Then the attempt will
 * not count, unless the agent's file has it, or there were too many of them. */
bool worker_never_started(struct active_run *l, const char *reason);

/* run/commands.c: calls done after the commit. */
void complete_later(struct supervisor *s, struct completion done,
		    const char *id, bool changed, const char *note);
void active_run_stop(struct active_run *l,
		     const char *by); /* to be run again */

/* run/effects.c */
void effect_apply(struct active_run *l,
		  enum run_effect act);         /* after the commit */
void spawn_before_commit(struct active_run *l); /* before it */
void command_deliver(struct active_run *l);     /* the next pending command */
void active_run_on_alarm(struct active_run *l);
void active_run_on_exit(struct active_run *l);
void record_worker_pid(struct active_run *l); /* in its rows */
const char *exit_reason_of(const struct active_run *l);
void exit_verify(struct active_run *l);

/* run/finish.c: the worker's word that it is over; at_once: the answer needs no
 * commit. supervisor_finish acts on the word that is kept in l->word. */
int supervisor_finished(struct active_run *l, const struct msg_finished *f,
			bool *at_once, struct err *e);
int supervisor_finish(struct active_run *l, struct err *e);

/* file_replaced.c: stops all changes while the control plane's file is not at its
 * place: whether it is. */
bool control_file_in_place(struct supervisor *s);

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
/* ERR_NOTALLOWED: it names a limit that cannot be enforced here. */
int run_sandbox_refuse(struct supervisor *s, const struct sandbox_spec *spec,
		       struct err *e);
void run_sandbox_log_missing(
	struct supervisor *s); /* to the log, what is missing */

/* run/start.c: makes a queued run live and starting: 0. 1: it must wait until what
 * is idle has made room. */
int start_queued_run(struct supervisor *s, const char *id, int64_t agent_limit,
		     struct err *e);

/* agent.c: the definition as its files say now; 1, 0: no such agent, -1. */
int supervisor_agent_read(struct supervisor *s, const char *name,
			  struct agent_row *out, struct arena *a,
			  struct err *e);
int supervisor_agent_database(struct supervisor *s, const char *name,
			      struct agent_database_row *out, struct arena *a,
			      struct err *e);

/* run/messages.c */
int messages_open(struct supervisor *s, struct err *e);
void messages_close(struct supervisor *s);

/* watch.c */
void notify_run_watchers(struct active_run *l);  /* news of this run */
void notify_host_watchers(struct supervisor *s); /* news in the host's log */
void watch_orphan(struct active_run *l); /* the run is not live any more */

/* run/recovery.c */
int recover_runs(struct supervisor *s, struct err *e);
void on_txn_failed(void *arg, const struct err *failed);

/* spawn events */
void on_spawn_event(void *arg, const struct spawn_told *t, int pidfd);
void on_spawner_lost(void *arg);

/* run/approval.c */
int approval_on_request(struct active_run *l, const struct msg_approval *m,
			struct err *e);
void approvals_expire(struct supervisor *s);

/* stop.c */
void end_if_done(struct supervisor *s); /* the last run may be over */

#endif
