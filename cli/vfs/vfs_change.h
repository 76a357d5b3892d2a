#ifndef CLI_VFS_VFS_CHANGE_H
#define CLI_VFS_VFS_CHANGE_H

#include "cli/vfs/vfs_cli.h"
#include "vfs/core/journal.h"

/* One row of a namespace's journal, as a line. */
void vfs_change_print(struct cli *cli, struct vfs *v,
		      const struct vfs_change *c);

#endif
