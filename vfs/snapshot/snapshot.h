#ifndef VFS_SNAPSHOT_SNAPSHOT_H
#define VFS_SNAPSHOT_SNAPSHOT_H

#include "lib/base/arena.h"
#include "lib/base/err.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Snapshots and forks of a namespace.
 *
 * Taking a snapshot writes one row, whatever the size of the tree. From then
 * on the first change of a thing keeps what was there before. Going back, and
 * dropping a snapshot, take time in proportion to what has changed. A fork is
 * a namespace of its own: it copies names and nodes, and shares contents.
 *
 * A namespace with a host directory below is read in whole by its first
 * snapshot or fork (names and attributes, no contents).
 */
struct sql;
struct vfs;

/* A fork's own first snapshot, not in any list: what it was forked from. */
#define VFS_FORK_POINT ".fork"

struct vfs_snapshot {
	const char *name;
	int64_t made_at; /* nanoseconds since 1970 */
};

int vfs_snapshot(struct vfs *v, const char *name, struct err *e);
int vfs_snapshot_drop(struct vfs *v, const char *name, struct err *e);

/*
 * The same in slices, for snapshots that kept much. _hide takes it out of sight,
 * in time that does not depend on its size; _some then walks over at most `count`
 * rows of a snapshot of this namespace that was hidden so, in a transaction of its
 * own or the caller's: 1, or 0 when none is left. Killed in between, any later
 * call goes on.
 */
struct vfs_drop {
	int64_t snap; /* 0: begin */
	int64_t id, idx, after;
	int table;
	uint32_t generation;
	uint64_t commits;
	int passes;
	bool more, disturbed;
	size_t length;
	char name[256];
};

int vfs_snapshot_hide(struct vfs *v, const char *name, struct err *e);
int vfs_snapshot_drop_some(struct vfs *v, struct vfs_drop *d, int64_t count,
			   struct err *e);

/* Makes the tree what it was; later snapshots are dropped, this one stays. */
int vfs_rollback_to(struct vfs *v, const char *name, struct err *e);

/* Oldest first, as an array in the arena: how many, or -1. */
int vfs_snapshots(struct vfs *v, struct vfs_snapshot **out, struct arena *a,
		  struct err *e);

/* What v shows (also a snapshot) as a new namespace. */
int vfs_fork(struct vfs *v, const char *name, struct err *e);

#endif
