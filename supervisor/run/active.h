#ifndef SUPERVISOR_RUN_ACTIVE_H
#define SUPERVISOR_RUN_ACTIVE_H

#include "ipc/server.h"
#include "lib/base/hash.h"
#include "lib/base/id.h"
#include "schema/control/run.h"
#include "supervisor/process/processes.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

/*
 * The runs that have a worker, or may have one: what skepd keeps in memory. The
 * rows are the truth; all of this can be read again from them. A live holds
 * handles of the loop, so it is freed a moment after active_run_drop.
 */
struct supervisor;

enum escalation { /* of the ladder that ends a tree */
		  ESCALATE_NONE,
		  ESCALATE_REQUESTED, /* the worker was told; it has its grace time */
		  ESCALATE_ENDING, /* it reported its end; time to write it */
		  ESCALATE_TERM,   /* SIGTERM was sent to all */
		  ESCALATE_KILL, /* SIGKILL was sent; again until no process is left */
};

struct active_run {
	struct active_run *next; /* in its bucket */
	struct supervisor *sup;
	char id[ID_SIZE];
	char agent[65];
	char *session;
	int64_t attempt, max_attempts, backoff_ms, grace_ms;
	int64_t run_timeout_ms, idle_timeout_ms; /* OPT_NONE: none */
	int64_t heartbeat_ms; /* that the worker was told to keep */
	enum run_state state;
	enum run_pending_state pending_state;
	char reason[64]; /* of the last move */
	char *detail;    /* what is known beside it, or NULL */
	char token_hash[HASH_HEX];
	char started_for
		[ID_SIZE]; /* the run that its processes were started for */
	char config_digest
		[HASH_HEX]; /* digest of what it was told; "": keeps nothing */
	int64_t idle_ms;    /* its worker wants to wait for the next run */
	struct end_report *report; /* how it ended, until its worker is gone */
	bool kept_idle;            /* an idle worker has its process tree now */
	bool reuses_worker;        /* its worker waits for its start message */

	pid_t pid; /* 0: not known yet */
	int64_t start_ticks;
	int pidfd;
	bool in_cgroup;
	char cgroup[ID_SIZE]; /* its name: the run's id, or a spare's */
	bool exited;          /* the worker's process is over */
	bool no_status;       /* its exit status will stay unknown */
	bool reconciling;     /* its file is being read */
	bool reconciled;
	int reconcile_tries; /* that failed */
	int exit_status;     /* as waitpid gives it; -1: not known */
	int start_fd;        /* start message until the spawner has it; -1 */
	int start_barrier;   /* where its worker waits for the commit; -1 */
	struct cgroup_limits *limits; /* until the spawner has them; or NULL */

	struct ipc_from from;    /* of its last message */
	struct ipc_from waiting; /* the request that takes a command */
	bool is_waiting;
	int64_t last_command;
	bool connected;
	int64_t last_message_ms; /* uv_now of the last message */
	bool suspect;            /* its time is over, and we listen once more */
	int64_t last_progress_ms; /* uv_now when there was last something new */
	char phase[16];
	int64_t last_seq, rev;

	enum escalation stage;
	int64_t end_requested_ms; /* uv_now when it was told to end */
	bool is_ending;           /* the worker reported that it ends */
	int64_t began_ms;         /* uv_now when the attempt began */
	unsigned exit_checks;     /* how often the tree was looked at */
	uv_timer_t alarm;
	uv_poll_t poll;
	bool has_poll;
	int handles; /* still open */
	bool dropped;
	struct run_watch *watches;
};

#define ACTIVE_BUCKETS 4096

struct active_runs {
	struct active_run *buckets[ACTIVE_BUCKETS];
	int64_t count;
};

/* Makes one from its row, with no process known; state is as stored. */
struct active_run *active_run_new(struct supervisor *s,
				  const struct run_active_row *row);
void active_run_set_phase(struct active_run *l, const char *phase);

/* Takes it out of the table; memory goes when the loop lets go of it. */
void active_run_drop(struct active_run *l);
struct active_run *active_run_find(struct active_runs *t, const char *id);

/* Calls fn for each; fn may drop the one it is given. */
void active_run_each(struct active_runs *t,
		     void (*fn)(struct active_run *l, void *arg), void *arg);
int64_t active_run_count_agent(struct active_runs *t, const char *agent);

/* Takes pidfd (or -1: opens one, checking that it is the process meant), and
 * watches it. A process that is over already is `exited` at once. */
void active_run_watch_pid(struct active_run *l, pid_t pid, int64_t start_ticks,
			  int pidfd);

/* Sets the alarm to go off in ms; replaces the one before. */
void active_run_set_alarm(struct active_run *l, int64_t ms);

void active_run_clear_report(struct active_run *l); /* finish.c */

/* Why it is as it is; detail may be NULL, or what it has already. */
void active_run_set_reason(struct active_run *l, const char *reason,
			   const char *detail);

struct processes active_run_processes(const struct active_run *l);

#endif
