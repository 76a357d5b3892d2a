#ifndef CLI_VFS_VFS_MERGE_CLI_H
#define CLI_VFS_VFS_MERGE_CLI_H

#include "cli/vfs/vfs_cli.h"
#include "vfs/snapshot/merge.h"

/* The options of a merge. `ours` and `theirs` say what the sides are. */
#define OPT_MERGE(ours, theirs)                                             \
	OPTION(WORD, 'X', "strategy", "ours|theirs",                        \
	       "resolve all conflicts with the version of " ours " (ours) " \
	       "or of " theirs " (theirs)"),                                \
		OPTION(MANY, 0, "ours", "PATH",                             \
		       "resolve conflicts at and below PATH with the "      \
		       "version of " ours "; may be repeated"),             \
		OPTION(MANY, 0, "theirs", "PATH",                           \
		       "the same with the version of " theirs)

/* The values of such an option, with NULL at the end. */
const char *const *merge_paths(struct cli *cli, const char *option);

/* Runs a merge, prints each path, and how many there were. */
int vfs_merge_cli(struct cli *cli, struct vfs *v,
		  int (*merge)(struct vfs *, struct vfs_merge *, struct err *),
		  struct err *e);

#endif
