#ifndef LIB_SANDBOX_SUPPORT_H
#define LIB_SANDBOX_SUPPORT_H

#include "lib/base/buf.h"
#include "lib/sandbox/spec.h"

#include <stdbool.h>

/*
 * What this machine offers for sandboxes. Looking costs a few system calls and,
 * for namespaces, a process that ends at once; it changes nothing.
 */
struct sandbox_offer {
	int landlock;    /* ABI: 0 none, 3 truncating, 6 signals and sockets */
	bool filter;     /* seccomp */
	bool namespaces; /* mount and network, by root or a user namespace */
	bool pids;       /* and of PIDs, with a /proc of its own */
};

/* Without namespaces: for those who will find out about them soon enough. */
void sandbox_look(struct sandbox_offer *o);

/* All of it. */
void sandbox_probe(struct sandbox_offer *o);

/* What the machine does not offer of what s asks for, a sentence a line that
 * says what would help: how many there are. Limits by cgroup are not judged
 * here, see supervisor/process/processes.h. s NULL: everything. */
int sandbox_lacks(const struct sandbox_offer *o, const struct sandbox_spec *s,
		  struct buf *out);

/* Whether the definition accepts what the machine offers. `lacks` is the text
 * of sandbox_lacks; ERR_NOTALLOWED has its first line. */
int sandbox_accept(const struct sandbox_offer *o, const struct sandbox_spec *s,
		   const struct buf *lacks, struct err *e);

#endif
