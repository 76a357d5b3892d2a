#ifndef WORKER_PROCESS_CHILD_H
#define WORKER_PROCESS_CHILD_H

#include "lib/base/arena.h"
#include "lib/base/err.h"
#include "lib/sandbox/sandbox.h"

#include <sys/types.h>

/*
 * A command with pipes on its three standard descriptors and nothing else open,
 * in a process group of its own. It dies with the worker.
 */
struct child {
	pid_t pid;
	int in; /* write end, non-blocking; -1 when closed */
	int out;
	int err;
};

/* Namespaces to enter, as descriptors; -1: stay. */
struct child_ns {
	int user;
	int mnt;
	int root; /* entering a mount namespace goes to its root: not ours in a
		     chroot */
};

struct child_spec {
	char *const *argv; /* argv[0] is looked for on the PATH of env */
	char *const *env;
	const char *cwd;           /* in the namespace entered */
	const struct child_ns *ns; /* NULL: none */
	const struct sandbox *box; /* NULL: none; its namespaces go before ns */
};

/*
 * Starts it. ERR_NOTFOUND: there is no such command (or its interpreter).
 * ERR_DENIED: it is there and cannot be executed. ERR_INVALID: cwd cannot be
 * entered.
 */
int child_start(struct child *c, const struct child_spec *spec, struct err *e);

void child_close(struct child *c); /* the pipes; the process is the tree's */

#endif
