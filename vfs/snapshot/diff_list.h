#ifndef VFS_SNAPSHOT_DIFF_LIST_H
#define VFS_SNAPSHOT_DIFF_LIST_H

#include "lib/base/arena.h"
#include "vfs/snapshot/diff.h"

/* Differences kept in memory, so that all can be judged before the first one
 * is carried out. An all-zero struct is empty. */
struct deltas {
	struct arena mem;
	struct vfs_delta *list;
	int *verdict; /* of each: 1 to take it, 0 to leave it */
	size_t n, cap;
};

int deltas_add(void *deltas, const struct vfs_delta *d, struct err *e);
void deltas_fini(struct deltas *d);

#endif
