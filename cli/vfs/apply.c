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
	.args = "NAMESPACE",
	.help = "write the changes of a namespace to its lower "
		"directory",
	.about = "A host file that changed since the namespace first "
		 "read it is a conflict. Conflicts are listed, and "
		 "nothing is written unless all of them are resolved. "
		 "Afterwards the namespace shows the directory as it is, and "
		 "has no earlier states: the changes of earlier runs can no "
		 "longer be compared ('skep diff') or undone.",
	.needs = VFS_NEEDS,
	.options = OPTIONS(OPT_MERGE("the host directory", "the namespace")),
	.run = run_vfs_apply,
};
