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
 * Active runs: runs that have a worker or may have one. The rows are
 * authoritative; everything here can be read from them again. An active_run
 * contains handles of the loop, so it is freed some time after active_run_drop,
 * when they are closed.
 */
struct supervisor;

enum escalation { /* how far the end of a run was escalated */
		  ESCALATE_NONE,
		  /* the worker was asked to end, and has its grace period */
		  ESCALATE_REQUESTED,
		  /* it reported that it ends, and has time to write its end */
		  ESCALATE_ENDING,
		  ESCALATE_TERM, /* SIGTERM was sent to all processes */
		  /* SIGKILL was sent; repeated until no process is left */
		  ESCALATE_KILL,
};

struct active_run {
	struct active_run *next; /* in the same bucket */
	struct supervisor *sup;
	char id[ID_SIZE];
	char agent[65];
	char *session;
	char *works_in; /* workspace, or NULL */
	bool is_shared; /* with other runs that share it */
	int64_t attempt, max_attempts, backoff_ms, grace_ms;
	int64_t run_timeout_ms, idle_timeout_ms; /* OPT_NONE: none */
	int64_t heartbeat_ms; /* interval from the start message */
	enum run_state state;
	enum run_pending_state pending_state;
	char reason[64]; /* of the last transition */
	char *detail;    /* details of the reason, or NULL */
	char token_hash[HASH_HEX];
	/* id of the run for which the processes were started */
	char started_for[ID_SIZE];
	/* of the start message; "": the worker cannot be reused */
	char config_digest[HASH_HEX];
	int64_t idle_ms; /* > 0: the worker offers to wait for the next run */
	/* report of the end, until the worker exits, or NULL */
	struct end_report *report;
	bool kept_idle; /* its processes belong to an idle worker now */
	/* it runs in an idle worker that waits for the run */
	bool reuses_worker;

	pid_t pid; /* 0: not known yet */
	int64_t start_ticks;
	int pidfd;
	bool in_cgroup;
	/* name: the id of the run or of the preforked worker */
	char cgroup[ID_SIZE];
	bool exited;      /* the worker has exited */
	bool no_status;   /* no exit status will be reported */
	bool reconciling; /* the agent file is being read */
	bool reconciled;
	int reconcile_tries; /* failed reads of the agent file */
	int exit_status;     /* wait status; -1: unknown */
	/* start message, until it is sent to the spawner; or -1 */
	int start_fd;
	/* pipe at which the worker waits for the commit, or -1 */
	int start_barrier;
	/* until they are sent to the spawner; or NULL */
	struct cgroup_limits *limits;

	struct ipc_from from; /* sender of the last message */
	/* request of the worker that the next command answers */
	struct ipc_from waiting;
	bool is_waiting;
	int64_t last_command;
	bool connected;
	int64_t last_message_ms; /* uv_now of the last message */
	bool suspect; /* it missed its heartbeats and is checked once more */
	int64_t last_progress_ms; /* uv_now of the last new event */
	bool reserves_calls;      /* each call of a model: budget.h */
	char phase[16];
	int64_t last_seq, rev;

	enum escalation stage;
	int64_t end_requested_ms; /* uv_now when the end was requested */
	bool is_ending;           /* the worker reported that it is ending */
	int64_t began_ms;         /* uv_now when the attempt began */
	unsigned exit_checks;     /* number of exit verifications so far */
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

/* Adds a run from its row, in its stored state and without a process. */
struct active_run *active_run_new(struct supervisor *s,
				  const struct run_active_row *row);
void active_run_set_phase(struct active_run *l, const char *phase);

/* Removes the run from the table. Its memory is freed when its handles are
 * closed. */
void active_run_drop(struct active_run *l);
struct active_run *active_run_find(struct active_runs *t, const char *id);

/* Calls fn for each run. fn may drop that run. */
void active_run_each(struct active_runs *t,
		     void (*fn)(struct active_run *l, void *arg), void *arg);
int64_t active_run_count_agent(struct active_runs *t, const char *agent);

/* A run of the agent that works there, or NULL. With `shared`, runs that share
 * the workspace do not count. */
struct active_run *active_run_in(struct active_runs *t, const char *agent,
				 const char *works_in, bool shared);

/* Watches the worker's process. Takes pidfd; with -1 it opens one and checks
 * the start time. If the process has already exited, `exited` is set at
 * once. */
void active_run_watch_pid(struct active_run *l, pid_t pid, int64_t start_ticks,
			  int pidfd);

/* Sets the timer of the run, which calls active_run_on_alarm. */
void active_run_set_alarm(struct active_run *l, int64_t ms);

void active_run_clear_report(struct active_run *l); /* finish.c */

/* Sets reason and detail. detail may be NULL or l->detail. */
void active_run_set_reason(struct active_run *l, const char *reason,
			   const char *detail);

struct processes active_run_processes(const struct active_run *l);

#endif
