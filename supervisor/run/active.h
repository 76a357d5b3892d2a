#ifndef SUPERVISOR_RUN_ACTIVE_H
#define SUPERVISOR_RUN_ACTIVE_H

#include "ipc/server.h"
#include "lib/base/hash.h"
#include "lib/base/id.h"
#include "schema/control/run.h"
#include "supervisor/run/processes.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

/*
 * The runs that have a worker, or may have one: what skepd keeps in memory. The
 * rows are the truth; all of this can be read again from them. A live holds
 * handles of the loop, so it is freed a moment after live_drop.
 */
struct supervisor;

enum live_rung { /* of the ladder that ends a tree */
		 RUNG_NONE,
		 RUNG_ASKED, /* the worker was told; it has its grace time */
		 RUNG_TERM,  /* SIGTERM was sent to all */
		 RUNG_KILL,  /* SIGKILL was sent; again until nobody is left */
};

struct live {
	struct live *next; /* in its bucket */
	struct supervisor *sup;
	char id[ID_SIZE];
	char agent[65];
	char *session;
	int64_t attempt, max_attempts, backoff_ms, grace_ms;
	int64_t run_timeout_ms, idle_timeout_ms; /* OPT_NONE: none */
	int64_t heartbeat_ms; /* that the worker was told to keep */
	enum run_state state;
	enum run_verdict verdict;
	char reason[64]; /* of the last move */
	char *detail;    /* what is known beside it, or NULL */
	char token_hash[HASH_HEX];
	char tree[ID_SIZE]; /* the run that its processes were started for */
	char fit[HASH_HEX]; /* digest of what it was told; "": keeps nothing */
	int64_t keep_ms;    /* its worker wants to wait for the next run */
	struct live_word *word; /* how it ended, until its worker is gone */
	bool parked;            /* its tree is not its own any more */
	bool handed;            /* its worker waits for its start message */

	pid_t pid; /* 0: not known yet */
	int64_t start_ticks;
	int pidfd;
	bool in_cgroup;
	char cgroup[ID_SIZE]; /* its name: the run's id, or a spare's */
	bool exited;          /* the worker's process is over */
	bool no_status;       /* nobody will tell how it ended */
	bool settling;        /* its file is being read */
	bool settled;
	int settle_tries; /* that failed */
	int exit_status;  /* as waitpid gives it; -1: not known */
	int start_fd;     /* start message until the spawner has it; -1 */
	int gate;         /* where its worker waits for the commit; -1 */
	struct cgroup_ask *limits; /* until the spawner has them; or NULL */

	struct ipc_from from;    /* of its last message */
	struct ipc_from waiting; /* the request that takes a command */
	bool is_waiting;
	int64_t last_command;
	bool connected;
	int64_t heard_ms; /* uv_now of the last message */
	bool doubted;     /* its time is over, and we listen once more */
	int64_t wrote_ms; /* uv_now when there was last something new */
	char phase[16];
	int64_t last_seq, rev;

	enum live_rung rung;
	int64_t asked_ms; /* uv_now when it was told to end */
	int64_t began_ms; /* uv_now when the attempt began */
	unsigned proofs;  /* how often the tree was looked at */
	uv_timer_t alarm;
	uv_poll_t poll;
	bool has_poll;
	int handles; /* still open */
	bool dropped;
	struct live_watch *watches;
};

#define LIVE_BUCKETS 4096

struct live_table {
	struct live *buckets[LIVE_BUCKETS];
	int64_t count;
};

/* Makes one from its row, with no process known; state is as stored. */
struct live *live_new(struct supervisor *s, const struct run_active_row *row);
void live_phase(struct live *l, const char *phase);

/* Takes it out of the table; memory goes when the loop lets go of it. */
void live_drop(struct live *l);
struct live *live_find(struct live_table *t, const char *id);

/* Calls fn for each; fn may drop the one it is given. */
void live_each(struct live_table *t, void (*fn)(struct live *l, void *arg),
	       void *arg);
int64_t live_count_agent(struct live_table *t, const char *agent);

/* Takes pidfd (or -1: opens one, checking that it is the process meant), and
 * watches it. A process that is over already is `exited` at once. */
void live_watch_pid(struct live *l, pid_t pid, int64_t start_ticks, int pidfd);

/* Sets the alarm to go off in ms; replaces the one before. */
void live_alarm(struct live *l, int64_t ms);

void live_forget_word(struct live *l); /* finish.c */

/* Why it is as it is; detail may be NULL, or what it has already. */
void live_because(struct live *l, const char *reason, const char *detail);

struct tree live_tree(const struct live *l);

#endif
