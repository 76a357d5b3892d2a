#include "cli/vfs/vfs_cli.h"

#include "vfs/snapshot/merge.h"

#include <string.h>
#include <sys/stat.h>

static int cp_in(struct cli *cli, struct vfs *v, struct err *e)
{
	const char *from = cli_arg(cli, 0), *to = cli_arg(cli, 1);
	const char *name = strrchr(from, '/') ? strrchr(from, '/') + 1 : from;
	struct vfs_attr a;
	struct err none;

	if (vfs_walk(v, to, VFS_FOLLOW, &a, &none) == 0 && S_ISDIR(a.mode))
		to = vfs_join(cli, to, name);
	if (vfs_copy(v, from, to, cli_flag(cli, "recursive"), e))
		return -1;
	vfs_report(cli, v, "copied", from, "copied %s to %s in %s", from, to,
		   vfs_full_name(cli, v));
	return 0;
}

static int run_vfs_cp(struct cli *cli, struct err *e)
{
	return vfs_cli(cli, cp_in, e);
}

const struct command cmd_vfs_cp = {
	.name = "vfs cp",
	.args = "NAMESPACE FROM TO",
	.help = "copy a file, or a directory with --recursive",
	.about = "Copies share their content until one of them "
		 "changes.",
	.needs = VFS_NEEDS,
	.arguments = ARGUMENTS(
		{"FROM", "file or directory to copy"},
		{"TO", "new path, or an existing directory to copy into"}),
	.options = OPTIONS(
		FLAG('r', "recursive", "copy directories and their content")),
	.run = run_vfs_cp,
};
