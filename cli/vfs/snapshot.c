#include "cli/vfs/vfs_cli.h"

static int snapshot_in(struct cli *cli, struct vfs *v, struct err *e)
{
	const char *name = cli_arg(cli, 0);
	bool drop = cli_flag(cli, "drop");

	if (drop ? vfs_snapshot_drop(v, name, e) : vfs_snapshot(v, name, e))
		return -1;
	vfs_say(cli, v, drop ? "dropped" : "kept", name);
	return 0;
}

static int run_vfs_snapshot(struct cli *cli, struct err *e)
{
	return vfs_cli(cli, snapshot_in, e);
}

const struct command cmd_vfs_snapshot = {
	.name = "vfs snapshot",
	.args = "WHERE SNAPSHOT",
	.help = "take a snapshot; --drop removes one",
	.about = "Taking one writes a single row. Look at it as "
		 "AGENT:NAMESPACE@NAME.",
	.needs = VFS_NEEDS,
	.options =
		(const struct option_spec[]){
			{"drop", NULL,
			 "remove it; what only it needed is freed",
			 OPTION_FLAG},
			VFS_OPTIONS_END},
	.run = run_vfs_snapshot,
};
