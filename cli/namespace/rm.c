#include "cli/vfs/vfs_cli.h"

static int run(struct cli *cli, struct err *e)
{
	if (!cli->namespace || !*cli->namespace)
		return err_set(e, ERR_USAGE, "the name is missing: AGENT:NAME");
	if (cli_confirm(cli,
			arena_printf(&cli->arena,
				     "namespace %s:%s with its files and "
				     "snapshots",
				     cli->agent_name, cli->namespace),
			e) ||
	    vfs_destroy(cli->agent.db, cli->namespace, e))
		return -1;
	cli_done_to(cli, "namespace.rm", cli->namespace);
	output_note(&cli->out, "removed namespace %s:%s", cli->agent_name,
		    cli->namespace);
	return 0;
}

const struct command cmd_namespace_rm = {
	.name = "namespace rm",
	.args = "NAMESPACE",
	.help = "delete a namespace with its snapshots",
	.needs = NEEDS_AGENT_FILE | NEEDS_AGENT_WORD,
	.arguments = ARGUMENTS({"NAMESPACE", "AGENT:NAME of the namespace"}),
	.options = OPTIONS(OPT_YES("do not ask for confirmation")),
	.run = run,
};
