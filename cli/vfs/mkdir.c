#include "cli/vfs/vfs_cli.h"

static int mkdir_in(struct cli *cli, struct vfs *v, struct err *e)
{
	if (vfs_mkdir(v, cli_arg(cli, 0), 0755, cli_flag(cli, "parents"), e))
		return e->code == ERR_NOTFOUND
			       ? vfs_hint(e, "--parents creates missing "
					     "directories")
			       : -1;
	vfs_report(cli, v, "created", cli_arg(cli, 0),
		   "created directory %s in %s", cli_arg(cli, 0),
		   vfs_full_name(cli, v));
	return 0;
}

static int run_vfs_mkdir(struct cli *cli, struct err *e)
{
	return vfs_cli_make(cli, mkdir_in, e);
}

const struct command cmd_vfs_mkdir = {
	.name = "vfs mkdir",
	.args = "NAMESPACE PATH",
	.help = "create a directory",
	.needs = VFS_NEEDS_MADE,
	.options = OPTIONS(
		FLAG('p', "parents", "create missing parent directories")),
	.run = run_vfs_mkdir,
};
