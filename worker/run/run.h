#ifndef WORKER_RUN_RUN_H
#define WORKER_RUN_RUN_H

#include "ipc/client.h"
#include "ipc/start_message.h"
#include "lib/base/arena.h"
#include "lib/base/err.h"
#include "lib/sandbox/sandbox.h"
#include "worker/run/commands.h"
#include "worker/run/transcript.h"

#include <poll.h>
#include <stdatomic.h>
#include <sys/types.h>

/*
 * One attempt of one run, as its driver sees it: where it writes, what is wanted
 * of it, and the places where it may wait. While it waits, commands are carried
 * out here: their effect is committed first, then the driver hears of it, then
 * the supervisor.
 */
#define RUN_POLL_MAX  6
#define RUN_NO_STATUS (-1)

enum run_phase {
	RUN_STARTING,
	RUN_RUNNING,
	RUN_WAITING,
	RUN_PAUSED,
	RUN_ENDING,
	RUN_IDLE /* between two runs: see worker/run/idle.h */
};

struct run {
	const struct msg_start *start; /* borrowed, or: */
	struct msg_start own;          /* of a later run; texts in the arena */
	const struct driver *driver;
	void *state;                 /* the driver's */
	struct workspace *workspace; /* NULL: no driver has asked for it */
	struct sandbox_spec sandbox; /* what is wanted */
	struct sandbox *box;         /* of its commands; NULL: none */
	struct confine *making;      /* begun, and not yet box; NULL: none */
	const char *ask_socket;      /* seen in the box; NULL: none */
	struct disk *disk;           /* what it may write; NULL: anything */
	struct memory *memory;       /* what it may take; NULL: anything */
	struct arena arena;          /* lives as long as the run */
	struct arena lasting;        /* lives as long as the process */
	void *held;      /* the driver's, from an earlier run; or NULL */
	int64_t idle_ms; /* how long it may be held for the next; 0: not */
	struct commands commands;
	struct transcript transcript;
	struct ipc_client *link;
	int signals;      /* signalfd: SIGTERM, SIGCHLD */
	pid_t child;      /* whose end child_status shall tell, or 0 */
	int child_status; /* as waitpid gives it, or RUN_NO_STATUS */
	bool paused;
	int64_t paused_since;
	int64_t deadline;        /* clock_mono_ns; 0: none */
	int64_t idle_timeout_ms; /* 0: no limit */
	int64_t began;           /* clock_mono_ns */
	int records;             /* debug records that may still be made */
	_Atomic int phase;
	const char *asking; /* key of the question that run_ask waits for */
	bool answered;
	bool allowed;
};

/* Signals, deadlines and the link; not the ledger. */
int run_open(struct run *r, const struct msg_start *start, struct err *e);
void run_close(struct run *r);

/* Makes r the next run of this process, as a message `start` says it; the link
 * waits for that. What the driver holds, workspace and sandbox stay. */
int run_renew(struct run *r, const char *json, struct err *e);

bool run_ending(struct run *r);
void run_read_signals(struct run *r); /* reaps, and hears that it shall end */

/* The attempt ends. If it was asked to end and takes long, the supervisor learns
 * it, and gives it time to write its end. */
void run_set_ending(struct run *r);

/*
 * Waits for n (at most RUN_POLL_MAX) descriptors as poll does, for at most ms,
 * and carries out what was commanded meanwhile. -1 when that failed.
 */
int run_poll(struct run *r, struct pollfd *fds, unsigned n, int64_t ms,
	     struct err *e);

/* Lets ms pass, not counting pauses. -1 with ERR_CANCELED if the run ends. */
int run_wait(struct run *r, int64_t ms, struct err *e);

/* Asks a person and waits for the answer, however long that takes: 1 allowed, 0
 * denied. The key names the question within the run, whatever the attempt. */
int run_ask(struct run *r, const struct msg_approval *question, struct err *e);

/* The first half of it: commits the question and sends it off. */
int run_question(struct run *r, const struct msg_approval *q, struct err *e);

#endif
