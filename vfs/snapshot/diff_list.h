#ifndef VFS_SNAPSHOT_DIFF_LIST_H
#define VFS_SNAPSHOT_DIFF_LIST_H

#include "lib/base/arena.h"
#include "vfs/snapshot/diff.h"

/* Differences in memory, so that all can be examined before the first one is
 * applied. An all-zero struct is empty. */
struct diff_list {
	struct arena mem;
	struct vfs_difference *list;
	int *decision; /* of each: 1 to apply it, 0 to skip it */
	size_t n, cap;
};

int diff_list_add(void *deltas, const struct vfs_difference *d, struct err *e);
void diff_list_fini(struct diff_list *d);

#endif
