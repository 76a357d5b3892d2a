#include "cli/vfs/vfs_cli.h"

static int ln_in(struct cli *cli, struct vfs *v, struct err *e)
{
	const char *target = cli_arg(cli, 0), *path = cli_arg(cli, 1);
	struct vfs_place at;
	struct vfs_attr a;

	if (cli_flag(cli, "symbolic")) {
		if (vfs_symlink(v, target, path, e))
			return -1;
	} else if (vfs_walk(v, target, VFS_NOFOLLOW, &a, e) ||
		   vfs_walk_place(v, path, &at, e) ||
		   vfs_link(v, a.ino, (struct vfs_at){at.dir, at.name}, &a,
			    e)) {
		return -1;
	}
	vfs_report(cli, v, "linked", path, "linked %s to %s in %s", path,
		   target, vfs_full_name(cli, v));
	return 0;
}

static int run_vfs_ln(struct cli *cli, struct err *e)
{
	return vfs_cli_make(cli, ln_in, e);
}

const struct command cmd_vfs_ln = {
	.name = "vfs ln",
	.args = "NAMESPACE TARGET PATH",
	.help = "create a hard link, or a symbolic link with "
		"--symbolic",
	.needs = VFS_NEEDS_MADE,
	.arguments = ARGUMENTS(
		{"TARGET", "existing file, or the text of a symbolic link"},
		{"PATH", "path of the new link"}),
	.options = OPTIONS(FLAG('s', "symbolic", "create a symbolic link")),
	.run = run_vfs_ln,
};
