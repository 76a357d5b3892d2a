#include "cli/vfs_cli.h"

static int ls_in(struct cli *cli, struct vfs *v, struct err *e)
{
	const char *path = cli_arg(cli, 0) ? cli_arg(cli, 0) : "";
	struct vfs_attr a;
	struct table *t;
	struct vfs_dir d;
	int rc = 0;

	if (vfs_walk(v, path, VFS_FOLLOW, &a, e) ||
	    vfs_readdir(v, a.ino, &d, e))
		return -1;
	t = table_new(&cli->out, &vfs_file_shape,
		      "mode links uid gid size modified_at path target");
	for (size_t i = 0; rc == 0 && i < d.n; i++) {
		struct vfs_file f;
		struct err gone;

		if (vfs_getattr(v, d.entries[i].ino, &a, &gone))
			continue;
		rc = vfs_file_of(cli, v, d.entries[i].name, &a, &f, e);
		if (rc == 0)
			table_add(t, &f);
	}
	table_end(t);
	vfs_dir_fini(&d);
	return rc;
}

static int run(struct cli *cli, struct err *e)
{
	return vfs_cli(cli, ls_in, e);
}

const struct command cmd_vfs_ls = {
	.name = "vfs ls",
	.args = "WHERE [PATH]",
	.help = "list a directory",
	.about = "WHERE is AGENT[:NAMESPACE[@SNAPSHOT]]; :NAMESPACE is one of "
		 "the default agent. Paths start at the\nroot of the namespace "
		 "and cannot leave it.",
	.needs = VFS_NEEDS,
	.run = run,
};
