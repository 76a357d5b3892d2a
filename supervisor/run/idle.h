#ifndef SUPERVISOR_RUN_IDLE_H
#define SUPERVISOR_RUN_IDLE_H

#include "ipc/server.h"
#include "lib/base/hash.h"
#include "lib/base/id.h"
#include "schema/control/run.h"
#include "supervisor/process/processes.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

/*
 * Workers between two runs. A run is over when no process of it is left; one
 * whose worker keeps its agent for the session's next prompt ends by giving the
 * tree away: a row (idle_worker) and a `struct idle_worker` have it from then
 * on, and whoever has a tree ends it. The next run of the session takes it over
 * with the same commit that makes it `starting`, if it would tell a new worker
 * the very same. Otherwise, and when its place is wanted, its time is up, or
 * its agent has changed, the idle tree is ended, with proof, as that of a run
 * is.
 *
 * A tree keeps the name of the run that it was started for: its cgroup and its
 * processes' environment bear that. A run in a tree that was another's has the
 * row too (idle_since NULL), so that it is found again after a crash.
 */
struct active_run;
struct supervisor;

struct idle_worker {
	struct idle_worker *next;
	struct supervisor *sup;
	char name[ID_SIZE]; /* of the tree */
	char cgroup[ID_SIZE];
	char run[ID_SIZE]; /* that it worked for last */
	char agent[65];
	char *session;
	char config_digest[HASH_HEX];
	char token_hash[HASH_HEX];
	int64_t attempt;
	pid_t pid;
	int64_t start_ticks;
	int pidfd; /* -1: it is gone */
	bool in_cgroup;
	int64_t since, expires_at; /* clock_now */

	struct ipc_from waiting; /* the request that takes a command */
	bool is_waiting;
	int64_t last_command;
	bool awaited;         /* a run waits for its voice */
	bool evicting;        /* it was told to go, or has gone */
	bool killed;          /* SIGKILL was sent */
	unsigned exit_checks; /* for the proof */

	uv_timer_t alarm;
	uv_poll_t poll;
	bool has_poll;
	int handles; /* still open */
};

struct idle_workers {
	struct idle_worker *first; /* oldest first */
	int64_t count;
};

/* A run that is done leaves its tree, if its worker wants that and may: true,
 * and the tree is not the run's any more. In the transaction. */
bool idle_keep(struct active_run *l);

/* Where the next run of this session goes: 1 into *out, 0 into a worker of its
 * own, -1 nowhere yet (something is being ended for it). */
int idle_find_worker(struct supervisor *s, const struct run_active_row *run,
		     const char *config_digest, int64_t agent_limit,
		     struct idle_worker **out);

/* Gives the tree to a run that starts, in the transaction; w is gone. After the
 * commit idle_send_run gives the worker what it shall do. */
int idle_assign(struct idle_worker *w, struct active_run *l, struct err *e);
void idle_send_run(struct active_run *l);

/* A run in a tree that was another's ends with it, in the transaction. */
int idle_end_run(struct active_run *l, struct err *e);

/* The tree in which a run that is adopted works, from its row. */
void idle_adopt(struct active_run *l);

struct idle_worker *idle_find(struct supervisor *s, const char *run);

/* Messages of an idle worker: rows do not change, so it hears at once. */
void idle_on_message(struct idle_worker *w, struct ipc_from from,
		     const struct msg *m);

/* Ends one; the oldest, all of an agent (NULL: of any). */
void idle_evict(struct idle_worker *w);
void idle_evict_oldest(struct supervisor *s, const char *agent);
void idle_evict_all(struct supervisor *s, const char *agent);

int64_t idle_count_agent(struct supervisor *s, const char *agent);
struct processes idle_processes(const struct idle_worker *w);

/* Inside: one from its row, watched by pidfd (taken; -1: it is gone); without
 * what happens to it; looks again in ms. */
struct idle_worker *idle_new(struct supervisor *s,
			     const struct idle_worker_row *row, int pidfd);
void idle_drop(struct idle_worker *w);
void idle_set_alarm(struct idle_worker *w, int64_t ms);

/* Reads the idle ones from their rows; forgets them (their processes live on). */
int idle_recover(struct supervisor *s, struct err *e);
void idle_clear(struct supervisor *s);

#endif
