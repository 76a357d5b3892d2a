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
 * by whoever speaks with the outside (HTTP routes, channels, schedules).
 *
 * A verb checks the request and changes rows in the turn's transaction. It
 * returns -1 with the reason if it refuses: then nothing is changed and nothing
 * will be called. On 0 the caller's `done` is called exactly once, after the
 * commit of this turn; only then may the outside be told. Texts are borrowed
 * for the time of the call.
 */
struct sup;

struct sup_result {
	const struct err *failed; /* NULL: committed; else nothing happened */
	struct id id;             /* run or approval that it was about */
	bool changed;             /* false: it was so already (or too late) */
	const char *note;         /* a word for people, or NULL */
};

struct sup_done {
	void (*call)(void *arg, const struct sup_result *r); /* or NULL */
	void *arg;
};

/* --- reading ---------------------------------------------------------- */

/* Calls fn after the commit of this turn; failed is NULL if it went well. So
 * a reader never shows what a crash could take back: read rows in fn. */
void sup_after(struct sup *s, void (*fn)(void *arg, const struct err *failed),
	       void *arg);
struct sql *sup_db(struct sup *s); /* reads, from inside sup_after's fn only */
const struct config *sup_config(const struct sup *s);
const struct home *sup_home(const struct sup *s);

/* What is known of a live run beside its row; false if it is not live. */
struct sup_live {
	int64_t last_seq, rev; /* newest hint */
	int64_t heard_at;      /* last message of the worker; 0: never */
	const char *phase;     /* "starting", "running", "adopted", … */
	bool connected;
	bool exited; /* its worker is gone; the end is near */
	bool silent; /* missed some signs of life already */
};

bool sup_live_get(struct sup *s, const char *run, struct sup_live *out);

/* Memory of the run's processes in bytes, and how many there are. Reads /proc:
 * for a person who looks, not for every request. */
struct sup_tree {
	int64_t rss, processes;
};

void sup_tree_get(struct sup *s, const char *run, struct sup_tree *out);

/* Workers that wait for the next run of their session, oldest first: the n-th,
 * from 0. */
struct sup_idle {
	const char *run, *agent, *session; /* of its last one */
	int64_t pid, since;
	bool connected;
	struct sup_tree tree; /* only with memory */
};

bool sup_idle_get(struct sup *s, int64_t n, bool memory, struct sup_idle *out);

struct sup_status {
	int64_t pid, epoch, started_at, live, idle, queued, workers_connected;
	int64_t spares; /* workers that wait for a run */
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

void sup_status_get(struct sup *s, struct sup_status *out);

/* --- watching --------------------------------------------------------- */

/* fn is called after commits and hints that may be news for the watcher of a
 * run (NULL: of the host's log). It is a hint: read rows. Not called from
 * inside sup_watch. */
struct sup_watch;

struct sup_watch *sup_watch(struct sup *s, const char *run,
			    void (*fn)(void *arg), void *arg);
void sup_unwatch(struct sup_watch *w); /* also from inside fn; NULL is fine */

/* --- runs ------------------------------------------------------------- */

/* An ask with the host's defaults; fill in the rest. */
struct run_ask sup_ask(const struct sup *s);
int sup_submit(struct sup *s, const struct run_ask *ask, struct sup_done done,
	       struct err *e);
int sup_retry(struct sup *s, const char *run, const char *by,
	      struct sup_done done, struct err *e);
int sup_cancel(struct sup *s, const char *run, const char *why, const char *by,
	       struct sup_done done, struct err *e);
int sup_pause(struct sup *s, const char *run, const char *by,
	      struct sup_done done, struct err *e);
int sup_resume(struct sup *s, const char *run, const char *by,
	       struct sup_done done, struct err *e);
#define SUP_SEND_MAX 262144 /* bytes of a message to a running worker */
int sup_send(struct sup *s, const char *run, const char *text, const char *by,
	     struct sup_done done, struct err *e);

struct sup_answer {
	bool allow;
	const char *note;
	const char *choice; /* an optionId of the question's detail, or NULL */
	const char *by;
};

/* ERR_CONFLICT, naming the first answer, when there is one. ERR_INVALID for a
 * choice that there is not, or that means the other answer. */
int sup_answer(struct sup *s, const char *approval,
	       const struct sup_answer *answer, struct sup_done done,
	       struct err *e);

/* --- agents and the host ---------------------------------------------- */

/* definition: {"driver":…, "workspace":…, "model":…, "prompt":…, …} */
int sup_agent_put(struct sup *s, const char *name, const char *definition,
		  const char *by, struct sup_done done, struct err *e);
int sup_agent_delete(struct sup *s, const char *name, const char *by,
		     struct sup_done done, struct err *e);
/* With its database and the files that define it. */
int sup_agent_purge(struct sup *s, const char *name, const char *by,
		    struct sup_done done, struct err *e);
/* Its database is at `path` now. */
int sup_agent_move(struct sup *s, const char *name, const char *path,
		   const char *by, struct sup_done done, struct err *e);
/* Makes the agent's database if there is none yet. */
int sup_agent_file(struct sup *s, const char *name, struct sup_done done,
		   struct err *e);

/* --- channels --------------------------------------------------------- */

/* definition: {"kind", "enabled", "command", "config"} */
int sup_channel_put(struct sup *s, const char *name, const char *definition,
		    const char *by, struct sup_done done, struct err *e);
int sup_channel_delete(struct sup *s, const char *name, const char *by,
		       struct sup_done done, struct err *e);
/* enable, disable, pause, resume, default */
int sup_channel_switch(struct sup *s, const char *name, const char *verb,
		       const char *by, struct sup_done done, struct err *e);
int sup_binding_put(struct sup *s, const struct binding_row *b, const char *by,
		    struct sup_done done, struct err *e);
int sup_binding_delete(struct sup *s, const struct binding_row *b,
		       const char *by, struct sup_done done, struct err *e);

/* A message of ours to somebody; the conversation is made if need be. With a
 * key it is accepted once, however often it is posted. */
struct sup_letter {
	const char *channel, *peer, *body, *key; /* peer, key: NULL for none */
};
int sup_post(struct sup *s, const struct sup_letter *l, struct sup_done done,
	     struct err *e);

/* retry, dismiss, resend */
int sup_delivery_verb(struct sup *s, const char *id, const char *verb,
		      const char *by, struct sup_done done, struct err *e);

/* scopes: a JSON array of words. The caller makes the token and its hash. */
int sup_token_add(struct sup *s, const char *name, const char *hash,
		  const char *scopes, struct sup_done done, struct err *e);
int sup_token_delete(struct sup *s, const char *name, struct sup_done done,
		     struct err *e);

/* "restart": go, workers live on. "down": start nothing more, go when the last
 * run is over. "down-now": stop workers (their runs wait for the next start),
 * then go. */
int sup_may_restart(struct sup *s, struct err *e); /* else nothing is left */
int sup_stop(struct sup *s, const char *intent, const char *by,
	     struct sup_done done, struct err *e);

#endif
