#include "cli/vfs/vfs_merge_cli.h"

static int discard_in(struct cli *cli, struct vfs *v, struct err *e)
{
	if (vfs_discard(v, e))
		return -1;
	vfs_report(cli, v, "discarded", "all changes",
		   "discarded all changes of %s", vfs_full_name(cli, v));
	return 0;
}

static int run_vfs_discard(struct cli *cli, struct err *e)
{
	return vfs_cli(cli, discard_in, e);
}

const struct command cmd_vfs_discard = {
	.name = "vfs discard",
	.args = "NAMESPACE",
	.help = "reset a fork to its origin, or a namespace to its lower "
		"directory",
	.needs = VFS_NEEDS,
	.run = run_vfs_discard,
};
