#ifndef CLI_VFS_VFS_TRANSFER_CLI_H
#define CLI_VFS_VFS_TRANSFER_CLI_H

#include "cli/vfs/vfs_cli.h"
#include "vfs/transfer/transfer.h"

/* A progress bar during a transfer, and a line at the end. */
struct transfer_view {
	struct vfs_transfer port;
	struct progress bar;
	bool silent; /* standard output is the archive itself */
};

/* The total is counted first only if a progress bar is shown. */
void port_begin_import(struct cli *cli, struct transfer_view *view,
		       const char *from, const char *path);
void transfer_begin_export(struct cli *cli, struct transfer_view *view,
			   struct vfs *v, const char *path);
/* Prints `done` and the counts if rc is 0; returns rc. */
int port_end(struct cli *cli, struct transfer_view *view, const char *done,
	     int rc);

#define PORT_SETUID \
	FLAG(0, "keep-setuid", "keep set-user-ID and set-group-ID bits")

#define PORT_DEVICES FLAG(0, "devices", "include device nodes")

#define PORT_FORMAT                                        \
	OPTION(WORD, 0, "format", "dir|tar|sqlar|agentfs", \
	       "format, if the name does not determine it")

#endif
