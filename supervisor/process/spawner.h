#ifndef SUPERVISOR_PROCESS_SPAWNER_H
#define SUPERVISOR_PROCESS_SPAWNER_H

#include "ipc/spawn.h"
#include "lib/base/err.h"

#include <stdbool.h>
#include <uv.h>

/*
 * skepd's end of the spawner: starts it, sends it requests, receives its
 * reports. If the spawner dies, another one takes its place. Requests that it had
 * not answered may or may not have started a process: `lost` has to find out.
 */
struct spawn_calls {
	void *arg;
	/* STARTED, FAILED or EXITED. The pidfd, or -1, becomes the callee's. */
	void (*told)(void *arg, const struct spawn_told *t, int pidfd);
	/* The spawner is gone: of asks under way nothing more will be heard. */
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

void spawn_close(struct spawn *s); /* ends it; workers live on */

/* Ends it and starts another: it hangs. Calls lost. */
void spawn_restart(struct spawn *s);

/* Takes the n descriptors; one that is -1 is left out. */
void spawn_send(struct spawn *s, const struct spawn_request *req,
		const int *fds, int n);

#endif
