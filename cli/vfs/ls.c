#include "cli/vfs/vfs_cli.h"

#include <sys/stat.h>

static int list_directory(struct cli *cli, struct vfs *v,
			  const struct vfs_dir *d, struct table *t,
			  struct err *e)
{
	for (size_t i = 0; i < d->n; i++) {
		struct vfs_file f;
		struct vfs_attr a;
		struct err gone;

		if (vfs_getattr(v, d->entries[i].ino, &a, &gone))
			continue;
		if (vfs_file_of(cli, v, d->entries[i].name, &a, &f, e))
			return -1;
		table_add(t, &f);
	}
	return 0;
}

static int ls_in(struct cli *cli, struct vfs *v, struct err *e)
{
	const char *path = cli_arg(cli, 0) ? cli_arg(cli, 0) : "";
	struct vfs_dir d = {0};
	struct vfs_file f;
	struct vfs_attr a;
	struct table *t;
	int rc;

	if (vfs_walk(v, path, VFS_FOLLOW, &a, e) ||
	    (S_ISDIR(a.mode) && vfs_readdir(v, a.ino, &d, e)))
		return -1;
	t = table_new(&cli->out, &vfs_file_shape,
		      "mode links uid gid size modified_at path target");
	if (S_ISDIR(a.mode)) {
		rc = list_directory(cli, v, &d, t, e);
	} else { /* a file is a list of itself */
		rc = vfs_file_of(cli, v, path, &a, &f, e);
		if (rc == 0)
			table_add(t, &f);
	}
	table_end(t);
	vfs_dir_fini(&d);
	return rc;
}

static int run_vfs_ls(struct cli *cli, struct err *e)
{
	return vfs_cli(cli, ls_in, e);
}

const struct command cmd_vfs_ls = {
	.name = "vfs ls",
	.args = "WHERE [PATH]",
	.help = "list a directory, or show a file",
	.about = "WHERE is AGENT[:NAMESPACE[@SNAPSHOT]]; :NAMESPACE is one of "
		 "the default agent. With --agent,\nWHERE is the namespace. "
		 "Paths start at the root of the namespace and cannot leave "
		 "it.",
	.needs = VFS_NEEDS,
	.run = run_vfs_ls,
};
