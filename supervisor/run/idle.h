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
 * Idle workers: workers that keep their agent process for the next run of their
 * session.
 *
 * A run is over when none of its processes is left. If its worker offers to
 * wait, the run ends by handing its processes over to a row of idle_worker and
 * a `struct idle_worker`. The next run of the session takes them over in the
 * commit that makes it `starting`, provided that a new worker would get the
 * same start message (config_digest). An idle worker is evicted, with exit
 * verification, if the message differs, its slot is needed, it expires, or its
 * agent changes.
 *
 * Processes keep the name of the run for which they were started: their cgroup
 * and their environment contain it. A run that uses such processes has the row
 * too (idle_since NULL), so that they are found after a crash.
 */
struct active_run;
struct supervisor;

struct idle_worker {
	struct idle_worker *next;
	struct supervisor *sup;
	/* id of the run for which the processes were started */
	char name[ID_SIZE];
	char cgroup[ID_SIZE];
	char run[ID_SIZE]; /* its last run */
	char agent[65];
	char *session;
	char *works_in; /* workspace that it keeps, or NULL */
	bool is_shared;
	char config_digest[HASH_HEX];
	char token_hash[HASH_HEX];
	int64_t attempt;
	pid_t pid;
	int64_t start_ticks;
	int pidfd; /* -1: it has exited */
	bool in_cgroup;
	int64_t since, expires_at; /* clock_now */

	/* request of the worker that the next command answers */
	struct ipc_from waiting;
	bool is_waiting;
	int64_t last_command;
	bool awaited;         /* a run waits until it connects again */
	bool evicting;        /* it was asked to exit, or has exited */
	bool killed;          /* SIGKILL was sent */
	unsigned exit_checks; /* number of exit verifications so far */

	uv_timer_t alarm;
	uv_poll_t poll;
	bool has_poll;
	int handles; /* still open */
};

struct idle_workers {
	struct idle_worker *first; /* oldest first */
	int64_t count;
};

/* Hands the processes of a finished run over to an idle worker, if the worker
 * offers to wait and may do so; returns whether it did. Call it in the
 * transaction. */
bool idle_keep(struct active_run *l);

/* Finds a worker for the next run of a session. Returns 1 and *out if an idle
 * worker fits, 0 if a new worker can be started, -1 if the run must wait for an
 * eviction or for the worker to connect. */
int idle_find_worker(struct supervisor *s, const struct run_active_row *run,
		     const char *config_digest, int64_t agent_limit,
		     struct idle_worker **out);

/* Assigns the processes of w to a starting run, in the transaction; the caller
 * drops w. After the commit, idle_send_run sends the start message. */
int idle_assign(struct idle_worker *w, struct active_run *l, struct err *e);
void idle_send_run(struct active_run *l);

/* Deletes the row of a run that ends in a reused worker, in the transaction. */
int idle_end_run(struct active_run *l, struct err *e);

/* Reads from the row whether an adopted run uses a reused worker. */
void idle_adopt(struct active_run *l);

struct idle_worker *idle_find(struct supervisor *s, const char *run);

/* Handles a message of an idle worker. No row changes, so it is answered at
 * once. */
void idle_on_message(struct idle_worker *w, struct ipc_from from,
		     const struct msg *m);

/* Evict a worker, the oldest one, or all, of the agent (NULL: any agent). */
void idle_evict(struct idle_worker *w);
void idle_evict_oldest(struct supervisor *s, const char *agent);
void idle_evict_all(struct supervisor *s, const char *agent);

/* The same for a worker of another session that keeps the workspace, unless both
 * share it: returns whether there is one. */
bool idle_evict_from(struct supervisor *s, const struct run_active_row *run);

int64_t idle_count_agent(struct supervisor *s, const char *agent);
struct processes idle_processes(const struct idle_worker *w);

/* For idle*.c: adds a worker from its row (takes pidfd; -1: it has exited),
 * removes it without ending its processes, sets its timer. */
struct idle_worker *idle_new(struct supervisor *s,
			     const struct idle_worker_row *row, int pidfd);
void idle_drop(struct idle_worker *w);
void idle_set_alarm(struct idle_worker *w, int64_t ms);

/* Reads the idle workers from their rows; removes all from memory (their
 * processes continue). */
int idle_recover(struct supervisor *s, struct err *e);
void idle_clear(struct supervisor *s);

#endif
