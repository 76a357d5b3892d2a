#include "cli/vfs/vfs_cli.h"

static int run(struct cli *cli, struct err *e)
{
	const char *base = cli_option(cli, "lower");

	if (!cli->space || !*cli->space)
		return err_set(e, ERR_USAGE, "the name is missing: AGENT:NAME");
	if (vfs_create(cli->agent.db, cli->space, base, e))
		return -1;
	output_note(&cli->out, "created %s", cli->space);
	return 0;
}

const struct command cmd_namespace_create = {
	.name = "namespace create",
	.args = "NAMESPACE",
	.help = "create a namespace, empty or over a host directory",
	.about = "With --lower, the namespace shows the files of a "
		 "host directory. The host directory is only read; "
		 "changes are stored in the namespace, and 'skep vfs "
		 "apply' writes them back.",
	.needs = VFS_NEEDS,
	.arguments = ARGUMENTS(
		{"NAMESPACE", "AGENT:NAME of the new namespace"}),
	.options = OPTIONS(OPTION(TEXT, 0, "lower", "DIR",
				  "use DIR as the lower directory")),
	.run = run,
};
