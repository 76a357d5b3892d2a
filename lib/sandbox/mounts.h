#ifndef LIB_SANDBOX_MOUNTS_H
#define LIB_SANDBOX_MOUNTS_H

#include "lib/sandbox/namespaces.h"

#include <stdbool.h>

/*
 * The file system that commands see, created in a mount namespace of their own.
 * The code runs beside threads that may hold any lock: it uses system calls
 * only and allocates nothing.
 */
struct mounts {
	const struct namespaces_plan *plan;
	int tree[VISIBLE_PATHS]; /* kept paths, opened before they are covered */
	bool placed[VISIBLE_PATHS];
	const char *empty; /* a directory that is covered by an empty one */
	const char *at;    /* the step in progress */
	char *sockets;     /* paths, one after the other, then "" */
};

/* Before the network namespace is created: records the bound sockets. */
bool mounts_find_sockets(struct mounts *m);

/* False with errno and m->at. */
bool mounts_make(struct mounts *m);

#endif
