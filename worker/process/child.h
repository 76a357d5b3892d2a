#ifndef WORKER_PROCESS_CHILD_H
#define WORKER_PROCESS_CHILD_H

#include "lib/base/arena.h"
#include "lib/base/err.h"
#include "lib/sandbox/sandbox.h"

#include <sys/types.h>

/*
 * A command with pipes on its three standard descriptors and no other open
 * descriptors, in its own process group. It dies with the worker.
 */
struct child {
	pid_t pid;
	int in; /* write end, non-blocking; -1 when closed */
	int out;
	int err;
};

/* Namespaces to enter, as descriptors; -1: none. */
struct child_ns {
	int user;
	int mnt;
	int root; /* entering a mount namespace changes to its root, which
		   * leaves a chroot */
};

struct child_spec {
	char *const *argv; /* argv[0] is searched in PATH of env */
	char *const *env;
	const char *cwd;               /* in the namespace entered */
	const struct child_ns *ns;     /* NULL: none */
	const struct sandbox *sandbox; /* NULL: none; its namespaces are entered
				    * before ns */
};

/*
 * Starts it. ERR_NOTFOUND: there is no such command (or its interpreter).
 * ERR_DENIED: it exists but cannot be executed. ERR_INVALID: cwd cannot be
 * entered.
 */
int child_start(struct child *c, const struct child_spec *spec, struct err *e);

void child_close(struct child *c); /* closes the pipes; process_tree.h handles
				    * the process */

#endif
