#ifndef SUPERVISOR_CORE_COMMANDS_H
#define SUPERVISOR_CORE_COMMANDS_H

#include "lib/base/arena.h"
#include "lib/base/err.h"
#include "lib/base/id.h"
#include "lib/db/sql.h"
#include "schema/config.h"
#include "schema/control/run.h"
#include "schema/home.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * The commands of skepd: plain functions, called on the thread of the loop by
 * HTTP routes, channels and jobs.
 *
 * A command checks the request and changes rows in the transaction of the turn.
 * If it refuses, it returns -1 with the reason; nothing is changed and `done`
 * is not called. On 0, `done` is called exactly once, after the commit of this
 * turn; only then may the caller report success. Texts are borrowed for the
 * time of the call.
 */
struct supervisor;

struct command_result {
	/* NULL: committed; else nothing was changed */
	const struct err *failed;
	struct id id;     /* the run, approval, … that was changed */
	bool changed;     /* false: nothing had to be changed */
	const char *note; /* a text for users, or NULL */
};

struct completion {
	void (*call)(void *arg, const struct command_result *r); /* or NULL */
	void *arg;
};

/* --- reading ---------------------------------------------------------- */

/* Calls fn after the commit of this turn; failed is NULL if it succeeded. Read
 * rows in fn: then a reader never shows what a crash could undo. */
void supervisor_after_commit(struct supervisor *s,
			     void (*fn)(void *arg, const struct err *failed),
			     void *arg);
/* For reads in the fn of supervisor_after_commit. */
struct sql *supervisor_db(struct supervisor *s);
const struct config *supervisor_config(const struct supervisor *s);
const struct home *supervisor_home(const struct supervisor *s);

/* State of an active run that is only in memory. supervisor_run_activity
 * returns false if the run is not active. */
struct run_activity {
	int64_t last_seq, rev; /* from the newest hint of the worker */
	/* time of the worker's last message; 0: none */
	int64_t last_message_at;
	const char *phase; /* "starting", "running", "adopted", … */
	bool connected;
	bool exited; /* the worker has exited */
	bool silent; /* heartbeats are missing */
};

bool supervisor_run_activity(struct supervisor *s, const char *run,
			     struct run_activity *out);

/* Memory of a run's processes in bytes, and their number. It reads /proc, so
 * call it only on request. */
struct run_memory {
	int64_t rss, processes;
};

void supervisor_run_memory(struct supervisor *s, const char *run,
			   struct run_memory *out);

/* The n-th idle worker, from 0, oldest first; false if there are fewer. memory:
 * fill in `memory` too. */
struct idle_worker_info {
	const char *run, *agent, *session; /* of its last run */
	int64_t pid, since;
	bool connected;
	struct run_memory memory; /* set only on request */
};

bool supervisor_idle_worker(struct supervisor *s, int64_t n, bool memory,
			    struct idle_worker_info *out);

struct supervisor_status {
	int64_t pid, epoch, started_at, active, idle, queued, workers_connected;
	int64_t preforked; /* preforked workers without a run */
	const char *version;
	bool stopping;
	bool read_only;
	const char *listen; /* HOST:PORT, or "" */
	/* Restarts by skep-watchdog since `skep up`; time and cause of the last
	 * one, or OPT_NONE and NULL. */
	int64_t restarts, restarted_at;
	const char *restart_cause;
	/* Why changes are rejected: a file of the control plane is lost. Or
	 * "". */
	struct err lost;
};

void supervisor_status_get(struct supervisor *s, struct supervisor_status *out);

/* --- watching --------------------------------------------------------- */

/* Calls fn after commits and hints that may concern a run (NULL: the host log),
 * until supervisor_unwatch. It is only a hint: read the rows. fn is not called
 * from inside supervisor_watch. */
struct supervisor_watch;

struct supervisor_watch *supervisor_watch(struct supervisor *s, const char *run,
					  void (*fn)(void *arg), void *arg);
/* May be called from fn; accepts NULL. */
void supervisor_unwatch(struct supervisor_watch *w);

/* --- runs ------------------------------------------------------------- */

/* A request with the defaults of the configuration; the caller fills in the
 * rest. */
struct run_request supervisor_run_defaults(const struct supervisor *s);
int supervisor_submit_run(struct supervisor *s, const struct run_request *req,
			  struct completion done, struct err *e);
int supervisor_retry_run(struct supervisor *s, const char *run, const char *by,
			 struct completion done, struct err *e);
int supervisor_cancel_run(struct supervisor *s, const char *run,
			  const char *why, const char *by,
			  struct completion done, struct err *e);
/* Cancels all queued and active runs that match, with their child runs. The
 * note of the result says how many. */
struct cancel_filter {
	const char *agent, *session, *tag, *reason; /* or NULL */
	bool all;
};
int supervisor_cancel_runs(struct supervisor *s, const struct cancel_filter *f,
			   const char *by, struct completion done,
			   struct err *e);
int supervisor_pause_run(struct supervisor *s, const char *run, const char *by,
			 struct completion done, struct err *e);
int supervisor_resume_run(struct supervisor *s, const char *run, const char *by,
			  struct completion done, struct err *e);
#define RUN_SEND_MAX 262144 /* bytes of a message to an active run */
int supervisor_send_to_run(struct supervisor *s, const char *run,
			   const char *text, const char *by,
			   struct completion done, struct err *e);

struct supervisor_answer {
	bool allow;
	const char *note;
	/* an optionId from the detail of the approval, or NULL */
	const char *choice;
	const char *by;
};

/* Answers an approval. ERR_CONFLICT if it was answered before; the error
 * names that answer. ERR_INVALID if the choice does not exist or contradicts
 * `allow`. */
int supervisor_answer(struct supervisor *s, const char *approval,
		      const struct supervisor_answer *answer,
		      struct completion done, struct err *e);

/* --- agents and the host ---------------------------------------------- */

/* definition: {"driver":…, "workspace":…, "model":…, "prompt":…, …} */
int supervisor_agent_put(struct supervisor *s, const char *name,
			 const char *definition, const char *by,
			 struct completion done, struct err *e);
int supervisor_agent_delete(struct supervisor *s, const char *name,
			    const char *by, struct completion done,
			    struct err *e);
/* Deletes also its database and the files that define it. */
int supervisor_agent_delete_all(struct supervisor *s, const char *name,
				const char *by, struct completion done,
				struct err *e);
/* Records that its database was moved to `path`. */
int supervisor_agent_move(struct supervisor *s, const char *name,
			  const char *path, const char *by,
			  struct completion done, struct err *e);
/* Creates the agent's database if it does not exist. */
int supervisor_agent_file(struct supervisor *s, const char *name,
			  struct completion done, struct err *e);

/* Fails if the next skepd would not find the control plane. */
int supervisor_may_restart(struct supervisor *s, struct err *e);
/* intent "restart": end now; workers continue. "down": start no run and end
 * after the last one. "down-now": stop all workers (their runs are queued for
 * the next start), then end. */
int supervisor_stop(struct supervisor *s, const char *intent, const char *by,
		    struct completion done, struct err *e);

#endif
