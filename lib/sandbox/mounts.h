#ifndef LIB_SANDBOX_MOUNTS_H
#define LIB_SANDBOX_MOUNTS_H

#include "lib/sandbox/namespaces.h"

#include <stdbool.h>

/*
 * What commands see of the file system, made in a mount namespace of their own.
 * It is made beside threads that may hold any lock: system calls, and nothing
 * that takes memory.
 */
struct mounts {
	const struct namespaces_plan *plan;
	int tree[NAMESPACES_KEPT]; /* of what is kept, taken before it is covered */
	bool placed[NAMESPACES_KEPT];
	const char *at; /* what was being done */
	char *sockets;  /* paths, one after the other, and "" */
};

/* Before the network namespace is made: the sockets that are bound now. */
bool mounts_find_sockets(struct mounts *m);

/* False with errno and m->at. */
bool mounts_make(struct mounts *m);

#endif
