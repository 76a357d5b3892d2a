#include "cli/vfs/vfs_cli.h"

static int run_vfs_new(struct cli *cli, struct err *e)
{
	const char *base = cli_option(cli, "base");

	if (!cli->space || !*cli->space)
		return err_set(e, ERR_USAGE,
			       "name the namespace: AGENT:NAMESPACE");
	if (vfs_create(cli->agent.db, cli->space, base, e))
		return -1;
	output_note(&cli->out, "made %s", cli->space);
	return 0;
}

const struct command cmd_vfs_new = {
	.name = "vfs new",
	.args = "WHERE",
	.help = "make a namespace, empty or over a host directory",
	.about = "With --base DIR the host directory shows through, read-only; "
		 "changes stay in the namespace.",
	.needs = VFS_NEEDS,
	.options = (const struct option_spec[]){{"base", "DIR",
						 "host directory below",
						 OPTION_TEXT},
						VFS_OPTIONS_END},
	.run = run_vfs_new,
};
