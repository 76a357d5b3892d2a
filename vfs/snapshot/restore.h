#ifndef VFS_SNAPSHOT_RESTORE_H
#define VFS_SNAPSHOT_RESTORE_H

#include "vfs/snapshot/merge.h"

/*
 * Makes paths of a namespace what they were in one of its snapshots. Unlike a
 * rollback, this is a change like any other: later snapshots stay, and the state
 * before is a snapshot if one was taken. Hard links and files of the lower directory
 * come back as such.
 */
struct vfs_restore {
	const char *to;   /* snapshot: the state that is restored */
	const char *from; /* snapshot: only what differs between it and `to` is
			   * restored. A path that no longer is as in
			   * `from` is a conflict. NULL: the live tree */
	/* Whether a path is restored; NULL: all are. */
	bool (*wants)(void *arg, const char *path);
	struct vfs_merge m; /* VFS_STRATEGY_FORK: `to` wins */
};

/* ERR_CONFLICT if there are conflicts and the strategy does not resolve them:
 * then nothing was changed. In its own transaction or the caller's. */
int vfs_restore(struct vfs *v, struct vfs_restore *r, struct err *e);

/* Takes a hidden snapshot, in the transaction of the caller or its own; its id is
 * *id. */
int vfs_snapshot_hidden(struct vfs *v, const char *name, int64_t *id,
			struct err *e);

#endif
