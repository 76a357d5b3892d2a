#include "cli/vfs/vfs_cli.h"

#define SNAP(F, S) F(S, text, name) F(S, time, made_at)
SHAPE_DECLARE(vfs_snap_view, SNAP);
SHAPE_DEFINE(vfs_snap_view, SNAP);

static int snapshots_in(struct cli *cli, struct vfs *v, struct err *e)
{
	struct vfs_snapshot *list;
	struct table *t;
	int n = vfs_snapshots(v, &list, &cli->arena, e);

	if (n < 0)
		return -1;
	t = table_new(&cli->out, &vfs_snap_view_shape, "name made_at");
	for (int i = 0; i < n; i++)
		table_add(t, &(struct vfs_snap_view){
				     list[i].name, list[i].made_at / 1000000});
	table_end(t);
	return 0;
}

static int run_vfs_snapshots(struct cli *cli, struct err *e)
{
	return vfs_cli(cli, snapshots_in, e);
}

const struct command cmd_vfs_snapshots = {
	.name = "vfs snapshots",
	.args = "WHERE",
	.help = "list the snapshots of a namespace",
	.needs = VFS_NEEDS,
	.run = run_vfs_snapshots,
};
