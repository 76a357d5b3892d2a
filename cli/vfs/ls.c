#include "cli/list.h"
#include "cli/vfs/vfs_cli.h"

#include <sys/stat.h>

static int list(struct cli *cli, struct vfs *v, const struct vfs_dir *d,
		struct cli_list *l, struct err *e)
{
	for (size_t i = 0; i < d->n; i++) {
		struct vfs_file f;
		struct vfs_attr a;
		struct err gone;

		if (vfs_getattr(v, d->entries[i].ino, &a, &gone))
			continue;
		if (vfs_file_of(cli, v, d->entries[i].name, &a, &f, e))
			return -1;
		cli_list_add(l, &f);
	}
	return 0;
}

static int ls_in(struct cli *cli, struct vfs *v, struct err *e)
{
	const char *path = cli_arg(cli, 0) ? cli_arg(cli, 0) : "";
	struct vfs_dir d = {0};
	struct vfs_file f;
	struct vfs_attr a;
	struct cli_list l = {
		.cli = cli,
		.shape = &vfs_file_shape,
		.columns = "mode links uid gid size modified_at path target",
		.none = "the directory is empty",
	};
	int rc;

	if (vfs_walk(v, path, VFS_FOLLOW, &a, e) ||
	    (S_ISDIR(a.mode) && vfs_readdir(v, a.ino, &d, e)))
		return -1;
	if (S_ISDIR(a.mode)) {
		rc = list(cli, v, &d, &l, e);
	} else { /* a file is listed itself */
		rc = vfs_file_of(cli, v, path, &a, &f, e);
		if (rc == 0)
			cli_list_add(&l, &f);
	}
	if (rc == 0)
		cli_list_end(&l);
	vfs_dir_fini(&d);
	return rc;
}

static int run_vfs_ls(struct cli *cli, struct err *e)
{
	return vfs_cli(cli, ls_in, e);
}

const struct command cmd_vfs_ls = {
	.name = "vfs ls",
	.args = "NAMESPACE [PATH]",
	.help = "list a directory",
	.needs = VFS_NEEDS,
	.arguments = ARGUMENTS(
		{"PATH", "directory or file, from the root of the namespace "
			 "(default: the root)"}),
	.options = OPTIONS(OPT_LIST),
	.run = run_vfs_ls,
};
