#ifndef VFS_SNAPSHOT_CONFLICT_H
#define VFS_SNAPSHOT_CONFLICT_H

#include "vfs/snapshot/merge.h"

/* Counts and reports a path in conflict, and returns which side wins. Without a
 * winner, it counts as unresolved. */
enum vfs_strategy conflict_decide(struct vfs_merge *m,
				  const struct vfs_difference *d);

/* Whether a path is `place` or below it. Slashes at both ends of `place` do not
 * count; "" is the root. */
bool place_covers(const char *place, const char *path);

#endif
