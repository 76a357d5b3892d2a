#include "cli/vfs/vfs_merge_cli.h"

static int merge_in(struct cli *cli, struct vfs *v, struct err *e)
{
	return vfs_merge_cli(cli, v, vfs_merge, e);
}

static int run_vfs_merge(struct cli *cli, struct err *e)
{
	return vfs_cli(cli, merge_in, e);
}

const struct command cmd_vfs_merge = {
	.name = "vfs merge",
	.args = "WHERE",
	.help = "bring a fork's changes into the namespace it comes from",
	.about = "A path that changed on both sides in different ways is a "
		 "conflict: then nothing is merged and\nthe conflicts are "
		 "named, unless --settle says who wins.",
	.needs = VFS_NEEDS,
	.options = (const struct option_spec[]){VFS_SETTLE_OPTION,
						VFS_OPTIONS_END},
	.run = run_vfs_merge,
};
