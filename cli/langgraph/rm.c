#include "cli/cli.h"

#include "schema/langgraph/langgraph.h"

static int rm(struct cli *cli, struct err *e)
{
	int n;

	if (cli_confirm(cli,
			arena_printf(&cli->arena,
				     "the checkpoints of thread %s of agent "
				     "%s",
				     cli_arg(cli, 0), cli->agent_name),
			e))
		return -1;
	n = langgraph_prune(cli->agent.db, cli_arg(cli, 0),
			    cli_count(cli, "keep", 0), e);
	if (n < 0)
		return -1;
	cli_done_to(cli, "langgraph.rm", cli_arg(cli, 0));
	output_note(&cli->out, "removed %d checkpoint%s of thread %s", n,
		    n == 1 ? "" : "s", cli_arg(cli, 0));
	return 0;
}

const struct command cmd_langgraph_rm = {
	.name = "langgraph rm",
	.args = "THREAD",
	.help = "delete the LangGraph checkpoints of a thread",
	.needs = NEEDS_AGENT_FILE,
	.arguments = ARGUMENTS(
		{"THREAD", "id of a thread; 'skep langgraph ls' lists them"}),
	.options = OPTIONS(OPTION(INT, 0, "keep", "N",
				  "keep the newest N checkpoints (default 0)"),
			   OPT_YES("do not ask for confirmation")),
	.run = rm,
};
