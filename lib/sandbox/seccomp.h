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
enum filter_for {
	FILTER_WORKER,
	FILTER_COMMAND,
	FILTER_HOST_PIDS,
	FILTER_HOST_MOUNTS,  /* no namespaces, network "host" */
	FILTER_HOST_NETWORK, /* no namespaces, network "none" */
	FILTERS
};

/* NULL with ERR_UNSUPPORTED. The program belongs to the process. */
const struct sock_fprog *filter_get(enum filter_for who, struct err *e);

/* From now on, for all threads or this one only, and what they start; needs
 * no_new_privs. System calls only. */
int filter_enforce(const struct sock_fprog *program, bool all_threads);

#endif
