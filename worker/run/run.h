#ifndef WORKER_RUN_RUN_H
#define WORKER_RUN_RUN_H

#include "ipc/client.h"
#include "ipc/start_message.h"
#include "lib/base/arena.h"
#include "lib/base/err.h"
#include "lib/sandbox/sandbox.h"
#include "worker/run/commands.h"
#include "worker/run/requests.h"
#include "worker/run/run_server.h"
#include "worker/run/transcript.h"

#include <poll.h>
#include <stdatomic.h>
#include <sys/types.h>

/*
 * One attempt of one run, as its driver sees it: the transcript, commands, and
 * functions that wait. Commands are handled while it waits: their effect is
 * committed first, then the driver is called, then the supervisor gets a
 * report.
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
	void *state;                      /* of the driver */
	struct workspace *workspace;      /* NULL: not opened by a driver */
	struct sandbox_spec sandbox_spec; /* the settings */
	struct sandbox *sandbox;          /* of its commands; NULL: none */
	struct confine *making;    /* started, not yet in sandbox; NULL: none */
	const char *ask_socket;    /* visible in the sandbox; NULL: none */
	struct run_server *server; /* for child runs; NULL: not allowed */
	const char *run_socket;    /* of the server, visible too; or NULL */
	const char *run_helper;    /* its program, visible too; or NULL */
	struct pending_requests requests;
	struct disk *disk;     /* disk limit; NULL: none */
	struct memory *memory; /* memory limit; NULL: none */
	struct arena arena;    /* as long as the run */
	struct arena lasting;  /* as long as the process */
	void *reuse;           /* of the driver, from an earlier run; or NULL */
	int64_t idle_ms; /* how long it may be kept for the next run; 0: not */
	struct commands commands;
	struct transcript transcript;
	struct ipc_client *link;
	int signals;      /* signalfd: SIGTERM, SIGCHLD */
	pid_t child;      /* the child for child_status, or 0 */
	int child_status; /* as from waitpid, or RUN_NO_STATUS */
	bool paused;
	int64_t paused_since;
	int64_t deadline;        /* clock_mono_ns; 0: none */
	int64_t idle_timeout_ms; /* 0: no limit */
	int64_t began;           /* clock_mono_ns */
	int64_t turn;            /* worker/run/turn.h; 0: none began */
	bool in_turn;
	int records; /* diagnostic records that may still be
				  * written */
	_Atomic int phase;
	const char *asking; /* key of the question that run_ask waits for */
	bool answered;
	bool allowed;
};

/* Opens signals, deadlines and IPC, but not the transcript. */
int run_open(struct run *r, const struct msg_start *start, struct err *e);
void run_close(struct run *r);

/* Makes r the next run of this process, from a message `start`; the IPC thread
 * waits for that. The held object of the driver, workspace and sandbox stay. */
int run_renew(struct run *r, const char *json, struct err *e);

bool run_ending(struct run *r);
void run_read_signals(struct run *r); /* reaps children, and detects requests to
				       * end */

/* The attempt ends. If the end was requested and takes long, this is reported
 * to the supervisor, which then allows time to write the end. */
void run_set_ending(struct run *r);

/*
 * Waits for n (at most RUN_POLL_MAX) descriptors as poll does, for at most ms,
 * and handles commands meanwhile. -1 if that failed.
 */
int run_poll(struct run *r, struct pollfd *fds, unsigned n, int64_t ms,
	     struct err *e);

/* Waits ms, not counting pauses. -1 with ERR_CANCELED if the run ends. */
int run_wait(struct run *r, int64_t ms, struct err *e);

/* Asks a user and waits for the answer without a time limit: 1 allowed, 0
 * denied. The key identifies the question within the run, in all attempts. */
int run_ask(struct run *r, const struct msg_approval *question, struct err *e);

/* The first half of that: commits the question and sends it. */
int run_question(struct run *r, const struct msg_approval *q, struct err *e);

#endif
