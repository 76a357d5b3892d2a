#ifndef CLI_VFS_VFS_MAIN_H
#define CLI_VFS_VFS_MAIN_H

#include "cli/cli.h"

/*
 * The namespace "main" is the workspace of an agent whose mode is not `disk`.
 * Its first run creates it, and so do commands that add files to it.
 */

/* Creates it as the first run would: over the lower directory of the agent
 * (vfs-scratch), or with the quota of limits.disk (vfs-only). ERR_CONFLICT: it
 * exists. */
int vfs_main_create(struct cli *cli, struct err *e);

/* ERR_NOTFOUND: it does not exist yet, and what creates it. */
int vfs_main_missing(struct cli *cli, struct err *e);

#endif
