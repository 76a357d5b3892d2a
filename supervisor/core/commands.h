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
 * What skepd can be asked to do: plain functions, called on the loop's thread
 * by the parts that clients reach (HTTP routes, channels, schedules).
 *
 * A verb checks the request and changes rows in the turn's transaction. It
 * returns -1 with the reason if it refuses: then nothing is changed and nothing
 * will be called. On 0 the caller's `done` is called exactly once, after the
 * commit of this turn; only then may the outside be told. Texts are borrowed
 * for the time of the call.
 */
struct supervisor;

struct command_result {
	const struct err *failed; /* NULL: committed; else nothing happened */
	struct id id;             /* run or approval that it was about */
	bool changed;             /* false: it was so already (or too late) */
	const char *note;         /* a word for people, or NULL */
};

struct completion {
	void (*call)(void *arg, const struct command_result *r); /* or NULL */
	void *arg;
};

/* --- reading ---------------------------------------------------------- */

/* Calls fn after the commit of this turn; failed is NULL if it went well. So
 * a reader never shows what a crash could take back: read rows in fn. */
void supervisor_after_commit(struct supervisor *s,
			     void (*fn)(void *arg, const struct err *failed),
			     void *arg);
struct sql *supervisor_db(
	struct supervisor
		*s); /* reads, from inside supervisor_after_commit's fn only */
const struct config *supervisor_config(const struct supervisor *s);
const struct home *supervisor_home(const struct supervisor *s);

/* What is known of a live run beside its row; false if it is not live. */
struct run_activity {
	int64_t last_seq, rev;   /* newest hint */
	int64_t last_message_at; /* last message of the worker; 0: never */
	const char *phase;       /* "starting", "running", "adopted", … */
	bool connected;
	bool exited; /* its worker is gone; the end is near */
	bool silent; /* missed some signs of life already */
};

bool supervisor_run_activity(struct supervisor *s, const char *run,
			     struct run_activity *out);

/* Memory of the run's processes in bytes, and how many there are. Reads /proc:
 * for a person who looks, not for every request. */
struct run_memory {
	int64_t rss, processes;
};

void supervisor_run_memory(struct supervisor *s, const char *run,
			   struct run_memory *out);

/* Workers that wait for the next run of their session, oldest first: the n-th,
 * from 0. */
struct idle_worker_info {
	const char *run, *agent, *session; /* of its last one */
	int64_t pid, since;
	bool connected;
	struct run_memory memory; /* only with memory */
};

bool supervisor_idle_worker(struct supervisor *s, int64_t n, bool memory,
			    struct idle_worker_info *out);

struct supervisor_status {
	int64_t pid, epoch, started_at, active, idle, queued, workers_connected;
	int64_t preforked; /* workers without a run */
	const char *version;
	bool stopping;
	bool read_only;
	const char *listen; /* HOST:PORT in use, or "" */
	/* By skep-watchdog since `skep up`; of the last one, or OPT_NONE and
	 * NULL. */
	int64_t restarts, restarted_at;
	const char *restart_cause;
	/* Why nothing is written: a file of the control plane is lost. Or "". */
	struct err lost;
};

void supervisor_status_get(struct supervisor *s, struct supervisor_status *out);

/* --- watching --------------------------------------------------------- */

/* fn is called after commits and hints that may be news for the watcher of a
 * run (NULL: of the host's log). It is a hint: read rows. Not called from
 * inside supervisor_watch. */
struct supervisor_watch;

struct supervisor_watch *supervisor_watch(struct supervisor *s, const char *run,
					  void (*fn)(void *arg), void *arg);
void supervisor_unwatch(
	struct supervisor_watch *w); /* also from inside fn; NULL is fine */

/* --- runs ------------------------------------------------------------- */

/* An ask with the host's defaults; fill in the rest. */
struct run_request supervisor_run_defaults(const struct supervisor *s);
int supervisor_submit_run(struct supervisor *s, const struct run_request *req,
			  struct completion done, struct err *e);
int supervisor_retry_run(struct supervisor *s, const char *run, const char *by,
			 struct completion done, struct err *e);
int supervisor_cancel_run(struct supervisor *s, const char *run,
			  const char *why, const char *by,
			  struct completion done, struct err *e);
int supervisor_pause_run(struct supervisor *s, const char *run, const char *by,
			 struct completion done, struct err *e);
int supervisor_resume_run(struct supervisor *s, const char *run, const char *by,
			  struct completion done, struct err *e);
#define RUN_SEND_MAX 262144 /* bytes of a message to a running worker */
int supervisor_send_to_run(struct supervisor *s, const char *run,
			   const char *text, const char *by,
			   struct completion done, struct err *e);

struct supervisor_answer {
	bool allow;
	const char *note;
	const char *choice; /* an optionId of the question's detail, or NULL */
	const char *by;
};

/* ERR_CONFLICT, naming the first answer, when there is one. ERR_INVALID for a
 * choice that there is not, or that means the other answer. */
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
/* With its database and the files that define it. */
int supervisor_agent_delete_all(struct supervisor *s, const char *name,
				const char *by, struct completion done,
				struct err *e);
/* Its database is at `path` now. */
int supervisor_agent_move(struct supervisor *s, const char *name,
			  const char *path, const char *by,
			  struct completion done, struct err *e);
/* Makes the agent's database if there is none yet. A database of an older program
 * is migrated first, which may take a while: `done` is called then. */
int supervisor_agent_file(struct supervisor *s, const char *name,
			  struct completion done, struct err *e);

/* scopes: a JSON array of words. The caller makes the token and its hash. */
int supervisor_token_add(struct supervisor *s, const char *name,
			 const char *hash, const char *scopes,
			 struct completion done, struct err *e);
int supervisor_token_delete(struct supervisor *s, const char *name,
			    struct completion done, struct err *e);

/* "restart": go, workers live on. "down": start nothing more, go when the last
 * run is over. "down-now": stop workers (their runs wait for the next start),
 * then go. */
int supervisor_may_restart(struct supervisor *s,
			   struct err *e); /* else nothing is left */
int supervisor_stop(struct supervisor *s, const char *intent, const char *by,
		    struct completion done, struct err *e);

#endif
