#ifndef VFS_MARKER_RUN_CHANGES_H
#define VFS_MARKER_RUN_CHANGES_H

#include "schema/agent/agent_file.h"
#include "vfs/snapshot/merge.h"

/*
 * The changes of a run, or of one turn, from its markers (schema/agent/marker.h).
 * A run that works is compared with the current state.
 *
 * ERR_NOTFOUND: the run has no marker (or no longer), or no such turn.
 * ERR_UNSUPPORTED: it worked in a host directory, which has no snapshots; the
 * message says how to get them.
 */
struct run_changes {
	const char *run;
	int64_t turn; /* 0: the whole run */
	struct sql *db;
	struct vfs *from, *to;
	const char *from_snap, *to_snap; /* to_snap NULL: the current state */
	struct arena mem;
};

int run_changes_open(struct run_changes *c, struct agent_file *f,
		     const char *run, int64_t turn, struct err *e);
void run_changes_close(struct run_changes *c); /* may be all zero */

/* Calls fn for the changes of these paths (n 0: of all). */
int run_changes_list(struct run_changes *c, const char *const *paths, int n,
		     vfs_difference_fn *fn, void *arg, struct err *e);

/* Undoes the changes of these paths. A path that was changed later is a conflict:
 * see vfs/snapshot/restore.h. */
int run_changes_revert(struct run_changes *c, const char *const *paths, int n,
		       struct vfs_merge *m, struct err *e);

#endif
