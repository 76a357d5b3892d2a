#ifndef VFS_CORE_FORK_FILL_H
#define VFS_CORE_FORK_FILL_H

#include "lib/base/err.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Forks that share the tree of their parent: a fork reads a directory from the
 * snapshot that it was made of when the directory is first used. Its entries are
 * then nodes of the fork, with the same numbers as in the parent. So a fork costs
 * the same for any number of files.
 *
 * As long as a fork has unread directories, the snapshot of the parent is needed.
 * Before it is deleted, the fork reads the rest (fork_complete).
 */
struct vfs;

/* The fork that was just added, which has no nodes yet, gets its root. */
int fork_begin(struct vfs *fork, int64_t source_snap, struct err *e);

/* Before each use of the entries of a directory. It is no change: it may be
 * called in the middle of reads, and of a snapshot of the fork. */
int fork_fill(struct vfs *v, int64_t dir, struct err *e);

/* Whether the directory was not read yet: 1, 0, -1. */
int fork_is_unread(struct vfs *v, int64_t dir, struct err *e);

/* Reads all directories, in the transaction of the caller. */
int fork_complete(struct vfs *v, struct err *e);
/* The same for all forks that read from the snapshot. */
int fork_complete_from(struct vfs *v, int64_t snap, struct err *e);

/* The fork is being deleted, and needs its source no longer. */
int fork_forget_source(struct vfs *v, struct err *e);

/* Adds what was not read yet to the usage. */
struct vfs_usage;
int fork_add_usage(struct vfs *v, struct vfs_usage *out, struct err *e);

/* Whether both views show a directory as their common source has it, so that it
 * need not be compared: 1, 0, -1. */
int fork_same_unread(struct vfs *a, struct vfs *b, int64_t dir, struct err *e);

#endif
