#ifndef SUPERVISOR_CORE_SUPERVISOR_H
#define SUPERVISOR_CORE_SUPERVISOR_H

#include "ipc/server.h"
#include "schema/config.h"
#include "schema/home.h"
#include "schema/watchdog_record.h"
#include "supervisor/core/commands.h"
#include "supervisor/core/jobs.h"
#include "supervisor/core/memory_trim.h"
#include "supervisor/core/txn.h"
#include "supervisor/run/active.h"
#include "supervisor/run/idle.h"
#include "supervisor/run/prefork.h"
#include "supervisor/run/processes.h"
#include "supervisor/run/run_fsm.h"
#include "supervisor/run/spawner.h"

#include <uv.h>

/*
 * The inside of skepd: one object, one loop, one writer of skep.sqlite. Private
 * to supervisor/; everybody else has api.h.
 *
 *   link.c     messages of workers           sched.c    who starts next
 *   move.c     events change rows            start.c    what a worker is told
 *   act.c      what follows after a commit   recover.c  at start, after errors
 *   verbs.c    what the outside may ask      approve.c  questions to people
 */
struct sup {
	uv_loop_t loop;
	struct home home;
	int home_lock; /* see home_lock */
	struct config config;
	struct watchdog_record watchdog; /* all 0 without one */
	struct sql *db;
	struct step step;
	struct ipc_server *ipc;
	uv_poll_t ipc_poll;
	struct spawn spawn;
	struct spares spares;
	struct web *web;
	struct keeper keeper;
	struct retiring *retiring;
	struct removing *removing;
	struct channels *channels;
	struct tree_place place;
	struct live_table lives;
	struct warm_table warms;
	struct run_pick pick;
	struct live_watch *host_watches;
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
	bool read_only;    /* there was no space to start: see disk.h */
	bool again;        /* there is space now */
	bool ended;        /* the loop is to end */
	int64_t ticks;
	bool trimming; /* the host's log has more rows to remove */
	struct footprint_cache cache;
};

/* Why a run moves. verdict: what its end shall be, if that is new. */
struct why {
	const char *reason;
	const char *detail; /* or NULL */
	enum run_verdict verdict;
};

/* move.c: the event's row of the table, in the step. ERR_CONFLICT if it has
 * none in the run's state; then nothing is changed. */
int sup_move(struct live *l, enum run_event event, const struct why *why,
	     struct err *e);

/* The same for a run that waits in the queue. */
int sup_move_queued(struct sup *s, const struct run_row *row,
		    enum run_event event, const struct why *why, struct err *e);

/* A move that cannot be refused; a failure of the database ends the step. */
void sup_must_move(struct live *l, enum run_event event, const struct why *why);

/* The worker is over, or must be ended: retry or end is decided here. */
void sup_die(struct live *l, const char *reason, const char *detail);

/* Is this the reason of a worker that never came to life? Then the attempt will
 * not count, unless the agent's file has it, or there were too many of them. */
bool sup_stillborn(struct live *l, const char *reason);

/* verbs.c: calls done after the commit. */
void sup_done_later(struct sup *s, struct sup_done done, const char *id,
		    bool changed, const char *note);
void sup_stop_live(struct live *l, const char *by); /* to be run again */

/* act.c */
void sup_act(struct live *l, enum run_act act); /* after the commit */
void sup_spawn_early(struct live *l);           /* before it */
void sup_deliver(struct live *l);               /* the next pending command */
void sup_alarm(struct live *l);
void sup_worker_exited(struct live *l);
void sup_record_pid(struct live *l); /* in its rows */
const char *sup_why_gone(const struct live *l);
void sup_prove(struct live *l);

/* finish.c: the worker's word that it is over; at_once: the answer needs no
 * commit. sup_finish acts on the word that is kept in l->word. */
int sup_finished(struct live *l, const struct msg_finished *f, bool *at_once,
		 struct err *e);
int sup_finish(struct live *l, struct err *e);

/* in_place.c: stops all changes while the control plane's file is not at its
 * place: whether it is. */
bool sup_in_place(struct sup *s);

/* settle.c: reads what a dead worker committed, in a thread; then sup_settled. */
void sup_settle(struct live *l);
bool sup_settle_late(struct live *l); /* whether it goes on without it */

/* sched.c */
void sup_schedule(struct sup *s);
void sup_queue_alarm(struct sup *s);

/* sandboxes.c: rows of those that there are, and what the host can offer. */
int sup_sandbox_make(struct live *l, const struct sandbox_spec *spec,
		     struct err *e);
int sup_sandbox_drop(struct live *l, struct err *e);
/* ERR_NOTALLOWED: it names a limit that cannot be enforced here. */
int sup_sandbox_refuse(struct sup *s, const struct sandbox_spec *spec,
		       struct err *e);
void sup_sandbox_say(struct sup *s); /* to the log, what is missing */

/* start.c: makes a queued run live and starting: 0. 1: it must wait until what
 * is idle has made room. */
int sup_start_run(struct sup *s, const char *id, int64_t agent_limit,
		  struct err *e);

/* agents.c: the definition as its files say now; 1, 0: no such agent, -1. */
int sup_agent_read(struct sup *s, const char *name, struct agent_row *out,
		   struct arena *a, struct err *e);
int sup_agent_database(struct sup *s, const char *name,
		       struct agent_database_row *out, struct arena *a,
		       struct err *e);

/* link.c */
int sup_link_open(struct sup *s, struct err *e);
void sup_link_close(struct sup *s);

/* watch.c */
void sup_notify(struct live *l);       /* news of this run */
void sup_notify_host(struct sup *s);   /* news in the host's log */
void sup_watch_orphan(struct live *l); /* the run is not live any more */

/* recover.c */
int sup_recover(struct sup *s, struct err *e);
void sup_step_failed(void *arg, const struct err *failed);

/* spawn events */
void sup_spawn_told(void *arg, const struct spawn_told *t, int pidfd);
void sup_spawn_lost(void *arg);

/* approve.c */
int sup_approval_asked(struct live *l, const struct msg_approval *m,
		       struct err *e);
void sup_approvals_expire(struct sup *s);

/* stop.c */
void sup_maybe_end(struct sup *s); /* the last run may be over */

#endif
