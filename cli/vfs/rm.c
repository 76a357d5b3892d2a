#include "cli/vfs/vfs_cli.h"

static int rm_in(struct cli *cli, struct vfs *v, struct err *e)
{
	for (int i = 0; cli_arg(cli, i); i++) {
		if (vfs_remove(v, cli_arg(cli, i), cli_flag(cli, "recursive"),
			       e))
			return e->code == ERR_NOTEMPTY
				       ? vfs_hint(e, "--recursive deletes it "
						     "with its content")
				       : -1;
		vfs_report(cli, v, "removed", cli_arg(cli, i),
			   "removed %s from %s", cli_arg(cli, i),
			   vfs_full_name(cli, v));
	}
	return 0;
}

static int run_vfs_rm(struct cli *cli, struct err *e)
{
	return vfs_cli(cli, rm_in, e);
}

const struct command cmd_vfs_rm = {
	.name = "vfs rm",
	.args = "NAMESPACE PATH...",
	.help = "delete files, or directories with --recursive",
	.needs = VFS_NEEDS,
	.options = OPTIONS(
		FLAG('r', "recursive", "delete directories and their content")),
	.run = run_vfs_rm,
};
