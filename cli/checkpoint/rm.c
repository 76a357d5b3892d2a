#include "cli/cli.h"

#include "schema/langgraph/langgraph.h"

static int rm(struct cli *cli, struct err *e)
{
	int n = langgraph_prune(cli->agent.db, cli_arg(cli, 0),
				cli_count(cli, "keep", 0), e);

	if (n < 0)
		return -1;
	cli_done_to(cli, "checkpoint.rm", cli_arg(cli, 0));
	output_note(&cli->out, "removed %d checkpoints", n);
	return 0;
}

const struct command cmd_checkpoint_rm = {
	.name = "checkpoint rm",
	.args = "THREAD",
	.help = "remove LangGraph's checkpoints of a thread",
	.needs = NEEDS_AGENT_FILE,
	.options =
		(const struct option_spec[]){{"keep", "N",
					      "all but the newest so many (0)",
					      OPTION_INT},
					     {NULL, NULL, NULL, OPTION_FLAG}},
	.run = rm,
};
