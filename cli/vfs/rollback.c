#include "cli/vfs/vfs_cli.h"

static int rollback_in(struct cli *cli, struct vfs *v, struct err *e)
{
	if (vfs_rollback_to(v, cli_arg(cli, 0), e))
		return -1;
	vfs_report(cli, v, "rolled back to", cli_arg(cli, 0),
		   "rolled %s back to snapshot %s", vfs_full_name(cli, v),
		   cli_arg(cli, 0));
	return 0;
}

static int run_vfs_rollback(struct cli *cli, struct err *e)
{
	return vfs_cli(cli, rollback_in, e);
}

const struct command cmd_vfs_rollback = {
	.name = "vfs rollback",
	.args = "NAMESPACE SNAPSHOT",
	.help = "reset a namespace to a snapshot",
	.about = "Newer snapshots are deleted.",
	.needs = VFS_NEEDS,
	.run = run_vfs_rollback,
};
