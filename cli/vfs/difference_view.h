#ifndef CLI_VFS_DIFFERENCE_VIEW_H
#define CLI_VFS_DIFFERENCE_VIEW_H

#include "cli/cli.h"
#include "vfs/snapshot/diff.h"
#include "vfs/snapshot/merge.h"

/* As in git, -p and -u mean the same. */
#define OPT_PATCH                                   \
	FLAG('p', "patch", "print a unified diff"), \
		FLAG('u', "unified", "the same as --patch")

bool difference_wants_patch(const struct cli *cli);

/* Prints differences between two trees: a line for each, a unified diff, or
 * objects with --json. */
struct difference_view {
	struct cli *cli;
	struct diff_source from, to;
	bool text; /* unified diffs */
};

vfs_difference_fn difference_print; /* arg: a struct difference_view */

/* A path that was merged or reverted, or is in conflict; arg: the cli. */
void difference_merged(void *arg, const struct vfs_difference *d,
		       bool conflict);

#endif
