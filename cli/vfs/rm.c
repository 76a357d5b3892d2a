#include "cli/vfs/vfs_cli.h"

static int rm_in(struct cli *cli, struct vfs *v, struct err *e)
{
	for (int i = 0; cli_arg(cli, i); i++) {
		if (vfs_remove(v, cli_arg(cli, i), cli_flag(cli, "recursive"),
			       e))
			return -1;
		vfs_say(cli, v, "removed", cli_arg(cli, i));
	}
	return 0;
}

static int run_vfs_rm(struct cli *cli, struct err *e)
{
	return vfs_cli(cli, rm_in, e);
}

const struct command cmd_vfs_rm = {
	.name = "vfs rm",
	.args = "WHERE PATH...",
	.help = "remove files, or trees with --recursive",
	.needs = VFS_NEEDS,
	.options =
		(const struct option_spec[]){
			{"recursive", NULL,
			 "directories with all that is in them", OPTION_FLAG},
			VFS_OPTIONS_END},
	.letters = "r recursive",
	.run = run_vfs_rm,
};
