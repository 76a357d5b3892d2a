#include "cli/list.h"
#include "cli/vfs/vfs_cli.h"

#define SNAP(F, S) F(S, text, name) F(S, time, created_at)
SHAPE_DECLARE(vfs_snap_view, SNAP);
SHAPE_DEFINE(vfs_snap_view, SNAP);

static int snapshots_in(struct cli *cli, struct vfs *v, struct err *e)
{
	struct cli_list l = {
		.cli = cli,
		.shape = &vfs_snap_view_shape,
		.columns = "name created_at",
		.none = "no snapshots; 'skep snapshot create NAMESPACE "
			"SNAPSHOT' takes one",
	};
	struct vfs_snapshot *list;
	int n = vfs_snapshots(v, &list, &cli->arena, e);

	if (n < 0)
		return -1;
	for (int i = 0; i < n; i++)
		cli_list_add(
			&l, &(struct vfs_snap_view){list[i].name,
						    list[i].made_at / 1000000});
	cli_list_end(&l);
	return 0;
}

static int run_vfs_snapshots(struct cli *cli, struct err *e)
{
	return vfs_cli(cli, snapshots_in, e);
}

const struct command cmd_snapshot_ls = {
	.name = "snapshot ls",
	.args = "NAMESPACE",
	.help = "list the snapshots of a namespace",
	.needs = VFS_NEEDS,
	.options = OPTIONS(OPT_LIST),
	.run = run_vfs_snapshots,
};
