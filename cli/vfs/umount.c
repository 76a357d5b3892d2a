#include "cli/vfs/vfs_cli.h"

#include "vfs/fuse/mount.h"

static int run_vfs_umount(struct cli *cli, struct err *e)
{
	if (vfs_unmount(cli_arg(cli, 0), e))
		return -1;
	output_note(&cli->out, "unmounted %s", cli_arg(cli, 0));
	return 0;
}

const struct command cmd_vfs_umount = {
	.name = "vfs umount",
	.args = "DIR",
	.help = "unmount a namespace, even if its process has died",
	.needs = NEEDS_NOTHING,
	.arguments = ARGUMENTS({"DIR", "mount point"}),
	.run = run_vfs_umount,
};
