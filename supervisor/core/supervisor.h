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

/*
 * What the parts of skepd share: one loop, one writer of skep.sqlite, one
 * transaction. Private to supervisor/; others use commands.h.
 *
 * Runs, channels and the API are opaque to one another. They meet in the rows, in
 * the commands that each offers, and in hints (hints.h).
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
	struct runs *runs;         /* run/internal.h */
	struct channels *channels; /* channel/internal.h */
	struct api *api;           /* api/request.h */
	struct spawn spawn;
	struct jobs jobs;
	struct process_roots roots;
	uv_timer_t tick; /* every second */
	uv_signal_t signals[2];
	int64_t epoch, started_at;
	char boot_id[40];
	bool host_changed; /* the host's log has news */
	bool stopping;     /* starts nothing more */
	bool read_only;    /* there was no space to start: see full_disk.h */
	bool restart_for_space; /* there is space now */
	bool ended;             /* the loop is to end */
	int64_t ticks;
	bool trimming; /* the host's log has more rows to remove */
	struct memory_cache cache;
	struct hints hints;
	struct attachment_budget attachments;
	struct agent_upgrade *upgrades; /* under way, or failed just now */
};

/* file_replaced.c: stops all changes while the control plane's file is not at its
 * place: whether it is. */
bool control_file_in_place(struct supervisor *s);

/* agent.c: the definition as its files say now; 1, 0: no such agent, -1. */
int supervisor_agent_read(struct supervisor *s, const char *name,
			  struct agent_row *out, struct arena *a,
			  struct err *e);
int supervisor_agent_check(struct supervisor *s, const char *name,
			   struct err *e); /* ERR_NOTFOUND */
/* The file of the agent, made on first use: 0; 1: it is being migrated, and `done`
 * follows (agent_upgrade.h); -1. */
int supervisor_agent_database(struct supervisor *s, const char *name,
			      struct completion done,
			      struct agent_database_row *out, struct arena *a,
			      struct err *e);

/* supervisor.c: calls done after the commit. */
void complete_later(struct supervisor *s, struct completion done,
		    const char *id, bool changed, const char *note);

/* run/watch.c: the host's log has news. */
void notify_host_watchers(struct supervisor *s);

/* run/idle_evict.c: before a change of an agent. Ends its idle workers; false if a
 * process of it is left. */
bool runs_release_agent(struct supervisor *s, const char *agent);
/* The same after a change, without waiting. */
void idle_evict_all(struct supervisor *s, const char *agent);

/* daemon.c: the last run may be over. */
void end_if_done(struct supervisor *s);

#endif
