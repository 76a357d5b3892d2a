#include "cli/vfs/vfs_cli.h"

static int fork_in(struct cli *cli, struct vfs *v, struct err *e)
{
	if (vfs_fork(v, cli_arg(cli, 0), e))
		return -1;
	vfs_say(cli, v, "forked as", cli_arg(cli, 0));
	return 0;
}

static int run_vfs_fork(struct cli *cli, struct err *e)
{
	return vfs_cli(cli, fork_in, e);
}

const struct command cmd_vfs_fork = {
	.name = "vfs fork",
	.args = "NAMESPACE FORK",
	.help = "create a namespace as a fork of another one",
	.about = "Content is shared, not copied. A snapshot can be "
		 "forked too.",
	.needs = VFS_NEEDS,
	.arguments = ARGUMENTS({"FORK", "name of the new namespace"}),
	.run = run_vfs_fork,
};
