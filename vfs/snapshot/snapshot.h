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
 * on, the first change of an object stores its before-image. Rolling back, and
 * deleting a snapshot, take time in proportion to the changes. A fork is a
 * namespace of its own. It takes the same time for any size of the tree: the
 * names and nodes of a directory are copied when it is first used, and contents
 * are shared. (A fork of a namespace with a lower directory copies all names and
 * nodes at once.)
 *
 * The first snapshot or fork of a namespace with a lower directory reads all of
 * it (names and attributes, no contents).
 */
struct sql;
struct vfs;

/* The first snapshot of a fork, which is not listed: its base. */
#define VFS_FORK_POINT ".fork"
/* The snapshot of a namespace that a fork of its current tree needs, with the
 * number of the fork; it is not listed. */
#define VFS_SOURCE ".source-"

struct vfs_snapshot {
	const char *name;
	int64_t made_at; /* nanoseconds since 1970 */
};

int vfs_snapshot(struct vfs *v, const char *name, struct err *e);
int vfs_snapshot_drop(struct vfs *v, const char *name, struct err *e);

/*
 * The same in batches, for snapshots with many before-images. _hide hides it, in
 * constant time; _some then handles at most `count` rows of a hidden snapshot
 * of this namespace, in its own transaction or the caller's: 1, or 0 if none is
 * left. If it is killed, any later call continues.
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

/* Restores the tree; later snapshots are deleted, this one stays. */
int vfs_rollback_to(struct vfs *v, const char *name, struct err *e);

/* Oldest first, as an array in the arena: how many, or -1. */
int vfs_snapshots(struct vfs *v, struct vfs_snapshot **out, struct arena *a,
		  struct err *e);

/* Creates a new namespace from what v shows (also a snapshot). */
int vfs_fork(struct vfs *v, const char *name, struct err *e);

/*
 * The same in another file, db, from which v is only read. Contents are copied,
 * each once, however many forks use it. The new namespace is filled in short
 * transactions and appears with the last one; if the process is killed before,
 * vfs_gc deletes what it has copied. Not in a transaction.
 */
struct vfs_fork_new {
	const char *name;
	const char *run; /* that creates it, or NULL */
	bool ephemeral;
	int64_t max_growth;     /* its quota over what it contains; 0: none */
	void (*progress)(void); /* after each transaction; may be NULL */
};

int vfs_fork_across(struct vfs *v, struct sql *db,
		    const struct vfs_fork_new *new, struct err *e);

#endif
