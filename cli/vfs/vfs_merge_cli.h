#ifndef CLI_VFS_VFS_MERGE_CLI_H
#define CLI_VFS_VFS_MERGE_CLI_H

#include "cli/vfs/vfs_cli.h"
#include "vfs/snapshot/merge.h"

/* Runs a merge, prints each path, and how many there were. */
int vfs_merge_cli(struct cli *cli, struct vfs *v,
		  int (*merge)(struct vfs *, struct vfs_merge *, struct err *),
		  struct err *e);

#endif
