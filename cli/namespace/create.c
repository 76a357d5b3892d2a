#include "cli/vfs/vfs_cli.h"
#include "cli/vfs/vfs_main.h"

#include <string.h>

static int run(struct cli *cli, struct err *e)
{
	const char *base = cli_option(cli, "lower");

	if (!cli->namespace || !*cli->namespace)
		return err_set(e, ERR_USAGE, "the name is missing: AGENT:NAME");
	if (base && home_check_lower(cli->home.root, base, e))
		return -1;
	if (!base && !strcmp(cli->namespace, "main")
		    ? vfs_main_create(cli, e)
		    : vfs_create(cli->agent.db, cli->namespace, base, e))
		return -1;
	output_note(&cli->out, "created namespace %s:%s%s%s", cli->agent_name,
		    cli->namespace, base ? " over " : "", base ? base : "");
	return 0;
}

const struct command cmd_namespace_create = {
	.name = "namespace create",
	.args = "NAMESPACE",
	.help = "create a namespace, empty or over a host directory",
	.about = "With --lower, the namespace shows the files of a "
		 "host directory. The host directory is only read; "
		 "changes are stored in the namespace, and 'skep vfs "
		 "apply' writes them back. The namespace main without --lower "
		 "is created as the first run of the agent would create it: "
		 "over the directory of a vfs-scratch agent, or with the quota "
		 "limits.disk of a vfs-only agent.",
	.needs = VFS_NEEDS_MADE,
	.arguments = ARGUMENTS(
		{"NAMESPACE", "AGENT:NAME of the new namespace"}),
	.options = OPTIONS(OPTION(TEXT, 0, "lower", "DIR",
				  "use DIR as the lower directory")),
	.run = run,
};
