#include "cli/vfs/vfs_cli.h"

#include <sys/stat.h>

#define COUNT(F, S)      \
	F(S, i64, bytes) \
	F(S, i64, files) F(S, i64, directories) F(S, i64, other)
SHAPE_DECLARE(vfs_count, COUNT);
SHAPE_DEFINE(vfs_count, COUNT);

static int add_to_total(void *arg, const struct vfs_found *f, struct err *e)
{
	struct vfs_count *c = arg;

	(void)e;
	if (S_ISDIR(f->attr.mode))
		c->directories++;
	else if (S_ISREG(f->attr.mode))
		c->files++;
	else
		c->other++;
	c->bytes += f->attr.size;
	return 0;
}

static int du_in(struct cli *cli, struct vfs *v, struct err *e)
{
	struct vfs_count c = {0};

	if (vfs_visit(v, cli_arg(cli, 0) ? cli_arg(cli, 0) : "", add_to_total,
		      &c, e))
		return -1;
	output_object(&cli->out, &vfs_count_shape, &c);
	return 0;
}

static int run_vfs_du(struct cli *cli, struct err *e)
{
	return vfs_cli(cli, du_in, e);
}

const struct command cmd_vfs_du = {
	.name = "vfs du",
	.args = "NAMESPACE [PATH]",
	.help = "count the files and bytes of a tree",
	.needs = VFS_NEEDS,
	.arguments = ARGUMENTS(
		{"PATH", "directory, from the root of the namespace (default: "
			 "the root)"}),
	.run = run_vfs_du,
};
