#ifndef SUPERVISOR_PROCESS_SPAWNER_H
#define SUPERVISOR_PROCESS_SPAWNER_H

#include "ipc/spawn.h"
#include "lib/base/err.h"

#include <stdbool.h>
#include <uv.h>

/*
 * Starts the spawner, sends it requests and receives its reports. If the
 * spawner dies, it is started again. A request that it had not answered may or
 * may not have started a process; `lost` has to find out.
 */
struct spawn_calls {
	void *arg;
	/* STARTED, FAILED or EXITED. The callee takes pidfd, which may be
	 * -1. */
	void (*on_event)(void *arg, const struct spawn_event *t, int pidfd);
	/* The spawner died: pending requests will not be answered. */
	void (*lost)(void *arg);
};

struct spawn {
	uv_loop_t *loop;
	uv_poll_t *poll;
	int fd;
	pid_t pid;
	struct spawn_calls calls;
	struct queued_request *first;
	struct queued_request **end;
};

int spawn_open(struct spawn *s, uv_loop_t *loop, struct spawn_calls calls,
	       struct err *e);

void spawn_close(struct spawn *s); /* kills the spawner; workers continue */

/* Kills a spawner that hangs and starts another. Calls lost. */
void spawn_restart(struct spawn *s);

/* Sends a request. Takes the n descriptors; -1 is skipped. */
void spawn_send(struct spawn *s, const struct spawn_request *req,
		const int *fds, int n);

#endif
