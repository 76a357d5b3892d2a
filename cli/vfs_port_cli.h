#ifndef CLI_VFS_PORT_CLI_H
#define CLI_VFS_PORT_CLI_H

#include "cli/vfs_cli.h"
#include "vfs/port.h"

/* A bar while a tree is on its way, and a line at the end. */
struct port_view {
	struct vfs_port port;
	struct progress bar;
	bool silent; /* standard output is the tree itself */
};

void port_begin(struct cli *cli, struct port_view *view, const char *path,
		const char *what);
int port_end(struct cli *cli, struct port_view *view, int rc); /* gives rc */

#define PORT_FORMAT                                \
	{                                          \
		"format", "dir|tar|sqlar|agentfs", \
			"what it is, if the name " \
			"does not say it",         \
			OPTION_WORD                \
	}

#endif
