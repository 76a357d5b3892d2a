/* snapshot create and rm. */
#include "cli/vfs/vfs_cli.h"

static int create_snapshot(struct cli *cli, struct vfs *v, struct err *e)
{
	if (vfs_snapshot(v, cli_arg(cli, 0), e))
		return -1;
	vfs_report(cli, v, "created snapshot", cli_arg(cli, 0),
		   "created snapshot %s of %s", cli_arg(cli, 0),
		   vfs_full_name(cli, v));
	return 0;
}

static int remove_snapshot(struct cli *cli, struct vfs *v, struct err *e)
{
	if (cli_confirm(cli,
			arena_printf(&cli->arena, "snapshot %s of %s",
				     cli_arg(cli, 0), vfs_full_name(cli, v)),
			e) ||
	    vfs_snapshot_drop(v, cli_arg(cli, 0), e))
		return -1;
	vfs_report(cli, v, "removed snapshot", cli_arg(cli, 0),
		   "removed snapshot %s of %s", cli_arg(cli, 0),
		   vfs_full_name(cli, v));
	return 0;
}

static int snapshot_create(struct cli *cli, struct err *e)
{
	return vfs_cli(cli, create_snapshot, e);
}

static int snapshot_rm(struct cli *cli, struct err *e)
{
	return vfs_cli(cli, remove_snapshot, e);
}

const struct command cmd_snapshot_create = {
	.name = "snapshot create",
	.args = "NAMESPACE SNAPSHOT",
	.help = "take a snapshot of a namespace",
	.about = "A snapshot takes constant time and space. Commands "
		 "that only read accept AGENT:NAME@SNAPSHOT as their "
		 "namespace.",
	.needs = VFS_NEEDS,
	.arguments = ARGUMENTS({"SNAPSHOT", "name of the new snapshot"}),
	.run = snapshot_create,
};

const struct command cmd_snapshot_rm = {
	.name = "snapshot rm",
	.args = "NAMESPACE SNAPSHOT",
	.help = "delete a snapshot and the data that only it uses",
	.needs = VFS_NEEDS,
	.options = OPTIONS(OPT_YES("do not ask for confirmation")),
	.run = snapshot_rm,
};
