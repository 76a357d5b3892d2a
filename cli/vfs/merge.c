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
	.args = "NAMESPACE",
	.help = "merge the changes of a fork into its parent",
	.about = "A path that was changed differently on both sides "
		 "is a conflict. Conflicts are listed, and nothing is "
		 "merged unless all of them are resolved.",
	.needs = VFS_NEEDS,
	.arguments = ARGUMENTS({"NAMESPACE", "AGENT:NAME of the fork"}),
	.options = OPTIONS(OPT_MERGE("the parent", "the fork")),
	.run = run_vfs_merge,
};
