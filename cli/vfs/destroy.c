#include "cli/vfs/vfs_cli.h"

static int run_vfs_destroy(struct cli *cli, struct err *e)
{
	if (!cli->space || !*cli->space)
		return err_set(e, ERR_USAGE,
			       "name the namespace: AGENT:NAMESPACE");
	if (vfs_destroy(cli->agent.db, cli->space, e))
		return -1;
	cli_done_to(cli, "vfs.destroy", cli->space);
	output_note(&cli->out, "destroyed %s", cli->space);
	return 0;
}

const struct command cmd_vfs_destroy = {
	.name = "vfs destroy",
	.args = "WHERE",
	.help = "remove a namespace with its snapshots",
	.needs = VFS_NEEDS,
	.run = run_vfs_destroy,
};
