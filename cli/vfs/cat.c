#include "cli/vfs/vfs_cli.h"

#include "lib/base/text.h"

#include <sys/stat.h>

#define PIECE (1 << 20)

static int cat_one(struct cli *cli, struct vfs *v, const char *path,
		   struct err *e)
{
	char *room = arena_alloc(&cli->arena, PIECE);
	struct vfs_attr a;
	int64_t off = 0;
	ssize_t n;

	if (vfs_walk(v, path, VFS_FOLLOW, &a, e))
		return -1;
	if (S_ISDIR(a.mode))
		return err_set(e, ERR_ISDIR,
			       "'%s' is a directory; 'vfs ls' lists it and "
			       "'vfs get' copies it",
			       quoted(path).text);
	while ((n = vfs_pread(v, a.ino, room, PIECE, off, e)) > 0) {
		if (cli->out.width) /* a terminal would interpret binary data */
			output_text(&cli->out, room, (size_t)n);
		else
			fwrite(room, 1, (size_t)n, cli->out.to);
		off += n;
	}
	return (int)n;
}

static int cat_in(struct cli *cli, struct vfs *v, struct err *e)
{
	for (int i = 0; cli_arg(cli, i); i++)
		if (cat_one(cli, v, cli_arg(cli, i), e))
			return -1;
	return 0;
}

static int run_vfs_cat(struct cli *cli, struct err *e)
{
	return vfs_cli(cli, cat_in, e);
}

const struct command cmd_vfs_cat = {
	.name = "vfs cat",
	.args = "NAMESPACE PATH...",
	.help = "write files to standard output",
	.needs = VFS_NEEDS,
	.run = run_vfs_cat,
};
