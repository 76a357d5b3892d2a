#include "cli/cli.h"

#include "schema/langgraph/langgraph.h"

#define PAGE 200

static int ls(struct cli *cli, struct err *e)
{
	struct table *t = table_new(&cli->out, &langgraph_thread_row_shape,
				    "thread checkpoints writes bytes");
	struct langgraph_thread_row *rows;
	const char *after = NULL;
	int n = 0;

	do {
		n = cli->agent.db
			    ? langgraph_threads(cli->agent.db, after, PAGE,
						&rows, &cli->arena, e)
			    : 0;
		for (int i = 0; i < n; i++)
			table_add(t, &rows[i]);
		if (n > 0)
			after = rows[n - 1].thread;
	} while (n == PAGE);
	table_end(t);
	return n < 0 ? -1 : 0;
}

const struct command cmd_checkpoint_ls = {
	.name = "checkpoint ls",
	.help = "list LangGraph's threads in an agent's file",
	.needs = NEEDS_AGENT_MAYBE,
	.run = ls,
};
