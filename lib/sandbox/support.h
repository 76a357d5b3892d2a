#ifndef LIB_SANDBOX_SUPPORT_H
#define LIB_SANDBOX_SUPPORT_H

#include "lib/base/buf.h"
#include "lib/sandbox/spec.h"

#include <stdbool.h>

/*
 * What this machine supports for sandboxes. The check costs a few system calls
 * and, for namespaces, a process that exits at once; it changes nothing.
 */
struct sandbox_support {
	int landlock;    /* ABI: 0 none, 3 truncating, 6 signals and sockets */
	bool filter;     /* seccomp */
	bool namespaces; /* mount and network, by root or a user namespace */
	bool pids;       /* PID namespaces, with their own /proc */
	const char *error; /* why there are no namespaces; NULL if unknown */
};

/* Without namespaces: for callers that will find out about them anyway. */
void sandbox_detect(struct sandbox_support *o);

/* All of it. */
void sandbox_probe(struct sandbox_support *o);

/* The parts that s requests and the machine does not support, one sentence per
 * line with a remedy; returns their number. Cgroup limits are not checked here,
 * see supervisor/process/processes.h. s NULL: all parts. */
int sandbox_missing(const struct sandbox_support *o,
		    const struct sandbox_spec *s, struct buf *out);

/* Whether the definition accepts what the machine supports. `lacks` is the text
 * of sandbox_missing; ERR_NOTALLOWED has its first line. */
int sandbox_accept(const struct sandbox_support *o,
		   const struct sandbox_spec *s, const struct buf *missing,
		   struct err *e);

#endif
