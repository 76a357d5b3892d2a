#ifndef VFS_SNAPSHOT_MERGE_H
#define VFS_SNAPSHOT_MERGE_H

#include "lib/base/err.h"
#include "vfs/snapshot/diff.h"

/*
 * Bringing changes home.
 *
 * A fork is merged into the namespace that it was forked from: each path that
 * changed in the fork since is taken over, contents shared and not copied,
 * unless the parent changed the same path in another way. That is a conflict:
 * then nothing is changed, and every conflict is named, unless `settle` says
 * which side wins. Afterwards the fork counts as forked from this moment.
 *
 * A namespace over a host directory is applied to that directory in the same
 * way: a host file that is not as it was when the namespace first saw it is a
 * conflict. Files are replaced whole, beside their place first.
 */
struct vfs;

enum vfs_settle { VFS_SETTLE_NOT, VFS_SETTLE_PARENT, VFS_SETTLE_FORK };

struct vfs_merge {
	enum vfs_settle settle;
	/* Each path that was taken over, or is in conflict; may be NULL. */
	void (*tell)(void *arg, const struct vfs_difference *d, bool conflict);
	void *arg;
	int64_t taken, conflicts; /* out */
};

/* ERR_CONFLICT when there are conflicts and nothing settles them. */
int vfs_merge(struct vfs *fork, struct vfs_merge *m, struct err *e);
int vfs_apply(struct vfs *v, struct vfs_merge *m, struct err *e);

/* A fork is again what it was forked from; a namespace over a host directory
 * shows that directory as it is now. */
int vfs_discard(struct vfs *v, struct err *e);

/* A copy within the namespace, contents shared until one of them changes. `to`
 * must not be there. */
int vfs_copy(struct vfs *v, const char *from, const char *to, bool recursive,
	     struct err *e);

#endif
