#ifndef LIB_SANDBOX_SECCOMP_H
#define LIB_SANDBOX_SECCOMP_H

#include "lib/base/err.h"

#include <linux/filter.h>
#include <stdbool.h>

/*
 * A filter of system calls (lib/sandbox/syscalls.def), compiled once a process: one
 * that forks others compiles it before, and they have it. Commands get more
 * refused than the worker that starts them, and most where they share PIDs,
 * mounts or the network with the host. Each kind refuses what those before it
 * do.
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

/* From now on, for all threads or this one only, and what they start; needs
 * no_new_privs. System calls only. */
int seccomp_enforce(const struct sock_fprog *program, bool all_threads);

#endif
