#include "cli/vfs/vfs_merge_cli.h"

static int apply_in(struct cli *cli, struct vfs *v, struct err *e)
{
	return vfs_merge_cli(cli, v, vfs_apply, e);
}

static int run_vfs_apply(struct cli *cli, struct err *e)
{
	return vfs_cli(cli, apply_in, e);
}

const struct command cmd_vfs_apply = {
	.name = "vfs apply",
	.args = "WHERE",
	.help = "write a namespace's changes to the host directory below it",
	.about = "A host file that changed since the namespace first saw it is "
		 "a conflict: then nothing is written,\nunless --settle says "
		 "who wins (parent is the host).",
	.needs = VFS_NEEDS,
	.options = (const struct option_spec[]){VFS_SETTLE_OPTION,
						VFS_OPTIONS_END},
	.run = run_vfs_apply,
};
