#include "cli/vfs/vfs_cli.h"

#include <string.h>
#include <sys/stat.h>

static int mv_in(struct cli *cli, struct vfs *v, struct err *e)
{
	const char *from = cli_arg(cli, 0), *to = cli_arg(cli, 1);
	const char *name = strrchr(from, '/') ? strrchr(from, '/') + 1 : from;
	unsigned flags = cli_flag(cli, "no-replace") ? VFS_NOREPLACE
			 : cli_flag(cli, "exchange") ? VFS_EXCHANGE
						     : 0;
	struct vfs_attr a;
	struct err none;

	if (!(flags & VFS_EXCHANGE) &&
	    vfs_walk(v, to, VFS_FOLLOW, &a, &none) == 0 && S_ISDIR(a.mode))
		to = vfs_join(cli, to, name);
	if (vfs_move(v, from, to, flags, e))
		return -1;
	vfs_report(cli, v, "moved", from,
		   flags & VFS_EXCHANGE ? "exchanged %s and %s in %s"
					: "moved %s to %s in %s",
		   from, to, vfs_full_name(cli, v));
	return 0;
}

static int run_vfs_mv(struct cli *cli, struct err *e)
{
	return vfs_cli(cli, mv_in, e);
}

const struct command cmd_vfs_mv = {
	.name = "vfs mv",
	.args = "NAMESPACE FROM TO",
	.help = "move or rename a file or a directory",
	.needs = VFS_NEEDS,
	.arguments = ARGUMENTS(
		{"FROM", "file or directory to move"},
		{"TO", "new path, or an existing directory to move into"}),
	.options = OPTIONS(FLAG('n', "no-replace", "fail if TO exists"),
			   FLAG(0, "exchange", "exchange FROM and TO")),
	.run = run_vfs_mv,
};
