#include "cli/vfs/vfs_cli.h"

#define STAT_VIEW(F, S)         \
	F(S, text, path)        \
	F(S, text, type)        \
	F(S, text, mode)        \
	F(S, text, target)      \
	F(S, i64, ino)          \
	F(S, i64, links)        \
	F(S, i64, uid)          \
	F(S, i64, gid)          \
	F(S, i64, size)         \
	F(S, time, modified_at) \
	F(S, time, changed_at) F(S, time, created_at) F(S, text, etag)
SHAPE_DECLARE(vfs_stat_view, STAT_VIEW);
SHAPE_DEFINE(vfs_stat_view, STAT_VIEW);

static int stat_in(struct cli *cli, struct vfs *v, struct err *e)
{
	const char *path = cli_arg(cli, 0);
	struct vfs_stat_view s;
	struct vfs_file f;
	struct vfs_attr a;
	char *etag = arena_alloc(&cli->arena, VFS_ETAG);

	if (vfs_walk(v, path, VFS_NOFOLLOW, &a, e) ||
	    vfs_file_of(cli, v, path, &a, &f, e))
		return -1;
	vfs_etag(&a, etag);
	s = (struct vfs_stat_view){f.path,
				   f.type,
				   f.mode,
				   f.target,
				   a.ino,
				   a.nlink,
				   a.uid,
				   a.gid,
				   a.size,
				   f.modified_at,
				   a.changed / 1000000,
				   a.created / 1000000,
				   etag};
	output_object(&cli->out, &vfs_stat_view_shape, &s);
	return 0;
}

static int run_vfs_stat(struct cli *cli, struct err *e)
{
	return vfs_cli(cli, stat_in, e);
}

const struct command cmd_vfs_stat = {
	.name = "vfs stat",
	.args = "NAMESPACE PATH",
	.help = "show the attributes of a file",
	.about = "The etag changes with every change to the file; 'skep vfs "
		 "put --if-etag' uses it.",
	.needs = VFS_NEEDS,
	.run = run_vfs_stat,
};
