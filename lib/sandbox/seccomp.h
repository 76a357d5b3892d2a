#ifndef LIB_SANDBOX_SECCOMP_H
#define LIB_SANDBOX_SECCOMP_H

#include "lib/base/err.h"

#include <linux/filter.h>
#include <stdbool.h>

/*
 * A system call filter (lib/sandbox/syscalls.def), compiled once per process: a
 * process that forks compiles it before, and its children inherit it. Commands
 * are denied more than the worker that starts them, and most if they share
 * PIDs, mounts or the network with the host. Each kind also denies what the
 * kinds before it deny.
 */
enum seccomp_for {
	SECCOMP_FOR_WORKER,
	SECCOMP_FOR_COMMAND,
	SECCOMP_FOR_HOST_PIDS,
	SECCOMP_FOR_HOST_MOUNTS,  /* no namespaces, network "host" */
	SECCOMP_FOR_HOST_NETWORK, /* no namespaces, network "none" */
	SECCOMP_KINDS
};

/* NULL with ERR_UNSUPPORTED. The program belongs to the process. */
const struct sock_fprog *seccomp_get(enum seccomp_for who, struct err *e);

/* Applies from now on to all threads or only this one, and to their
 * descendants; requires no_new_privs. System calls only. */
int seccomp_enforce(const struct sock_fprog *program, bool all_threads);

#endif
