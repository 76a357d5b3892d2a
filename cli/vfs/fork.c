#include "cli/vfs/vfs_cli.h"

static int fork_in(struct cli *cli, struct vfs *v, struct err *e)
{
	const char *name = cli_arg(cli, 0);

	if (vfs_other(cli, &name, e) || vfs_fork(v, name, e))
		return -1;
	vfs_say(cli, v, "forked as", name, "forked %s as %s:%s",
		vfs_full_name(cli, v), cli->agent_name, name);
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
	.arguments = ARGUMENTS(
		{"FORK", "NAME of the new namespace; :NAME and AGENT:NAME "
			 "with the same AGENT are accepted too"}),
	.run = run_vfs_fork,
};
