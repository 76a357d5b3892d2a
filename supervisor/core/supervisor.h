#ifndef SUPERVISOR_CORE_SUPERVISOR_H
#define SUPERVISOR_CORE_SUPERVISOR_H

#include "schema/config.h"
#include "schema/home.h"
#include "schema/watchdog_record.h"
#include "supervisor/core/agent_work.h"
#include "supervisor/core/attachments.h"
#include "supervisor/core/commands.h"
#include "supervisor/core/hints.h"
#include "supervisor/core/jobs.h"
#include "supervisor/core/memory_trim.h"
#include "supervisor/core/txn.h"
#include "supervisor/process/processes.h"
#include "supervisor/process/spawner.h"

#include <uv.h>

struct host_event_add_in;

/*
 * The state that the parts of skepd share: one loop, one writer of skep.sqlite,
 * one transaction. Private to supervisor/; other directories use commands.h.
 *
 * Runs, channels and the API are opaque to one another. They communicate
 * through rows, through the commands that each offers, and through hints
 * (hints.h).
 */
struct supervisor {
	uv_loop_t loop;
	struct home home;
	int home_lock; /* descriptor of home_lock() */
	struct config config;
	struct watchdog_record watchdog; /* all 0 without a watchdog */
	struct sql *db;
	struct txn txn;
	struct agent_threads *agent_threads;
	struct runs *runs;               /* run/internal.h */
	struct channels *channels;       /* channel/internal.h */
	struct experiments *experiments; /* experiment/internal.h */
	struct schedules *schedules;     /* schedule/internal.h */
	struct api *api;                 /* api/request.h */
	struct spawn spawn;
	struct jobs jobs;
	struct process_roots roots;
	uv_timer_t tick; /* every second */
	uv_signal_t signals[2];
	int64_t epoch, started_at;
	char boot_id[40];
	bool host_changed; /* the host log has new rows */
	bool stopping;     /* no further run is started */
	bool read_only;    /* started without disk space (full_disk.h) */
	/* skepd is to restart, since there is space now */
	bool restart_for_space;
	bool ended; /* the loop is ending */
	int64_t ticks;
	bool trimming; /* more rows of the host log are to be deleted */
	struct memory_cache cache;
	struct hints hints;
	struct attachment_budget attachments;
	struct agent_upgrade *upgrades; /* in progress, or failed just now */
};

/* file_replaced.c: returns whether the file of the control plane is at its
 * path; refuses all changes while it is not. */
bool control_file_in_place(struct supervisor *s);

/* agent.c: reads the current definition of an agent, also from its files.
 * Returns 1, 0 if there is no such agent, or -1. */
int supervisor_agent_read(struct supervisor *s, const char *name,
			  struct agent_row *out, struct arena *a,
			  struct err *e);
/* ERR_NOTFOUND */
int supervisor_agent_check(struct supervisor *s, const char *name,
			   struct err *e);
/* Opens the file of the agent, and creates it on first use: 0; 1: it is being
 * migrated, and `done` follows (agent_upgrade.h); -1. */
int supervisor_agent_database(struct supervisor *s, const char *name,
			      struct completion done,
			      struct agent_database_row *out, struct arena *a,
			      struct err *e);

/* supervisor.c: calls `done` with these values after the commit. */
void complete_later(struct supervisor *s, struct completion done,
		    const char *id, bool changed, const char *note);

/* Adds a row to the host log, whose body is an object with this one member. */
int supervisor_log_event(struct supervisor *s, struct host_event_add_in *in,
			 const char *member, const char *text, struct err *e);

/* run/watch.c: calls the watchers of the host log if host_changed is set. */
void notify_host_watchers(struct supervisor *s);

/* run/idle_evict.c: ends the idle workers of an agent and waits for their exit;
 * false if a process of the agent is left. Call it before a change of the
 * agent's files. */
bool runs_release_agent(struct supervisor *s, const char *agent);
/* The same without waiting. */
void idle_evict_all(struct supervisor *s, const char *agent);

/* daemon.c: ends skepd if a stop was requested and no run is left. */
void end_if_done(struct supervisor *s);

#endif
