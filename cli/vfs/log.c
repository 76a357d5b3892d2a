#include "cli/vfs/vfs_cli.h"

#include "cli/vfs/vfs_change.h"

static int log_in(struct cli *cli, struct vfs *v, struct err *e)
{
	int64_t seq = cli_number(cli, "after", 0), left;
	struct vfs_change *c;
	int n;

	left = cli_number(cli, "limit", 1000);
	do {
		n = vfs_changes(v, seq, left < 500 ? (int)left : 500, &c,
				&cli->arena, e);
		for (int i = 0; i < n; i++)
			vfs_change_print(cli, v, &c[i]);
		if (n > 0)
			seq = c[n - 1].seq;
		left -= n;
	} while (n > 0 && left > 0);
	return n < 0 ? -1 : 0;
}

static int run_vfs_log(struct cli *cli, struct err *e)
{
	return vfs_cli(cli, log_in, e);
}

const struct command cmd_vfs_log = {
	.name = "vfs log",
	.args = "NAMESPACE",
	.help = "list the changes of a namespace, oldest first",
	.needs = VFS_NEEDS,
	.options = OPTIONS(OPTION(INT, 0, "after", "SEQ",
				  "list only changes after this number"),
			   OPTION(INT, 'n', "limit", "N",
				  "list at most N changes (default 1000)")),
	.run = run_vfs_log,
};
