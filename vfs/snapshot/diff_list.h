#ifndef VFS_SNAPSHOT_DIFF_LIST_H
#define VFS_SNAPSHOT_DIFF_LIST_H

#include "lib/base/arena.h"
#include "vfs/snapshot/diff.h"

/* Differences kept in memory, so that all can be judged before the first one
 * is carried out. An all-zero struct is empty. */
struct diff_list {
	struct arena mem;
	struct vfs_difference *list;
	int *verdict; /* of each: 1 to take it, 0 to leave it */
	size_t n, cap;
};

int diff_list_add(void *deltas, const struct vfs_difference *d, struct err *e);
void diff_list_fini(struct diff_list *d);

#endif
