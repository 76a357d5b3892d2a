#include "cli/vfs/vfs_cli.h"

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

	if (rc == 0)
		rc = vfs_write_file(v, cli_arg(cli, 0), (struct blob){b.p, b.n},
				    &how, e);
	buf_fini(&b);
	if (rc == 0)
		vfs_say(cli, v, "wrote", cli_arg(cli, 0));
	return rc;
}

static int run_vfs_put(struct cli *cli, struct err *e)
{
	return vfs_cli(cli, put_in, e);
}

const struct command cmd_vfs_put = {
	.name = "vfs put",
	.args = "WHERE PATH [FILE]",
	.help = "write a file from a host file or standard input",
	.about = "The file has all of the new bytes or is as it was.",
	.needs = VFS_NEEDS,
	.options =
		(const struct option_spec[]){
			{"append", NULL, "add to the end", OPTION_FLAG},
			{"parents", NULL, "make missing directories",
			 OPTION_FLAG},
			{"if-etag", "ETAG",
			 "only if the file has it; empty: only if new",
			 OPTION_TEXT},
			VFS_OPTIONS_END},
	.letters = "p parents",
	.run = run_vfs_put,
};
