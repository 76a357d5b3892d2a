#include "cli/vfs/vfs_cli.h"

static int mkdir_in(struct cli *cli, struct vfs *v, struct err *e)
{
	if (vfs_mkdir(v, cli_arg(cli, 0), 0755, cli_flag(cli, "parents"), e))
		return -1;
	vfs_say(cli, v, "made", cli_arg(cli, 0));
	return 0;
}

static int run_vfs_mkdir(struct cli *cli, struct err *e)
{
	return vfs_cli(cli, mkdir_in, e);
}

const struct command cmd_vfs_mkdir = {
	.name = "vfs mkdir",
	.args = "NAMESPACE PATH",
	.help = "create a directory",
	.needs = VFS_NEEDS,
	.options = OPTIONS(
		FLAG('p', "parents", "create missing parent directories")),
	.run = run_vfs_mkdir,
};
