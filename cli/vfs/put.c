#include "cli/vfs/vfs_cli.h"

#include <string.h>

#define PUT_MAX ((size_t)1 << 30)

static int put_in(struct cli *cli, struct vfs *v, struct err *e)
{
	const char *file = cli_arg(cli, 1) ? cli_arg(cli, 1) : "-";
	struct vfs_put how = {
		.if_etag = cli_option(cli, "if-etag"),
		.append = cli_flag(cli, "append"),
		.parents = cli_flag(cli, "parents"),
	};
	struct buf b = BUF_MAX(PUT_MAX);
	int rc = cli_read(file, &b, e);
	bool was_read = rc == 0;

	if (rc == 0)
		rc = vfs_write_file(v, cli_arg(cli, 0), (struct blob){b.p, b.n},
				    &how, e);
	buf_fini(&b);
	if (rc && e->code == ERR_NOTFOUND && !how.parents &&
	    strchr(cli_arg(cli, 0), '/') && was_read)
		return vfs_hint(e, "--parents creates missing directories");
	if (rc == 0)
		vfs_report(cli, v, "wrote", cli_arg(cli, 0), "wrote %s to %s",
			   cli_arg(cli, 0), vfs_full_name(cli, v));
	return rc;
}

static int run_vfs_put(struct cli *cli, struct err *e)
{
	return vfs_cli_make(cli, put_in, e);
}

const struct command cmd_vfs_put = {
	.name = "vfs put",
	.args = "NAMESPACE PATH [FILE]",
	.help = "write a file from a host file or standard input",
	.about = "The write is atomic: the file has either the old or "
		 "the new content.",
	.needs = VFS_NEEDS_MADE,
	.arguments = ARGUMENTS(
		{"FILE", "host file to read (default: standard input)"}),
	.options = OPTIONS(
		FLAG(0, "append", "append to the file"),
		FLAG('p', "parents", "create missing directories"),
		OPTION(TEXT, 0, "if-etag", "ETAG",
		       "fail unless the file has this etag; with an empty "
		       "ETAG, fail if the file exists")),
	.run = run_vfs_put,
};
