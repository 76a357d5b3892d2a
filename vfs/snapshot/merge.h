#ifndef VFS_SNAPSHOT_MERGE_H
#define VFS_SNAPSHOT_MERGE_H

#include "lib/base/err.h"
#include "vfs/snapshot/diff.h"

/*
 * Merging changes back.
 *
 * A fork is merged into the namespace that it was forked from: each path that
 * changed in the fork since then is applied to the parent, with shared
 * contents, unless the parent changed the same path differently. That is a
 * conflict: then nothing is changed, and every conflict is reported, unless
 * `strategy` decides which side wins. Afterwards the fork's base is its current
 * state.
 *
 * A namespace is applied to its lower directory in the same way: a host file
 * that differs from what the namespace first saw is a conflict. Files are
 * replaced atomically, by a rename.
 */
struct vfs;

enum vfs_strategy { VFS_STRATEGY_NONE, VFS_STRATEGY_PARENT, VFS_STRATEGY_FORK };

/* What an error about conflicts tells the user to do. */
#define VFS_RESOLVE                                                           \
	"--strategy ours or theirs decides for all of them, --ours PATH and " \
	"--theirs PATH for one"

struct vfs_merge {
	enum vfs_strategy strategy;
	/* Paths, and what is below them, for which one side wins, whatever
	 * `strategy` is; each list ends with NULL and may be NULL. */
	const char *const *ours, *const *theirs;
	/* Called for each path that was applied, or is in conflict; may be
	 * NULL. */
	void (*report)(void *arg, const struct vfs_difference *d,
		       bool conflict);
	void *arg;
	int64_t applied, conflicts, unresolved; /* out */
};

/* ERR_CONFLICT if neither the paths nor `strategy` resolve all conflicts. */
int vfs_merge(struct vfs *fork, struct vfs_merge *m, struct err *e);
int vfs_apply(struct vfs *v, struct vfs_merge *m, struct err *e);

/* Merges a fork in the file of another agent (vfs_fork_across) into a namespace;
 * contents are copied. */
int vfs_merge_across(struct vfs *fork, struct vfs *parent, struct vfs_merge *m,
		     struct err *e);

/* Resets a fork to its base; a namespace over a host directory then shows that
 * directory as it is now. */
int vfs_discard(struct vfs *v, struct err *e);

/* A copy within the namespace, with contents shared until one of them changes.
 * `to` must not exist. */
int vfs_copy(struct vfs *v, const char *from, const char *to, bool recursive,
	     struct err *e);

#endif
