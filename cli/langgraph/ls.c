#include "cli/list.h"

#include "schema/langgraph/langgraph.h"

#define PAGE 200

static int ls(struct cli *cli, struct err *e)
{
	struct cli_list l = {
		.cli = cli,
		.shape = &langgraph_thread_row_shape,
		.columns = "thread checkpoints writes bytes",
		.none = arena_printf(&cli->arena,
				     "no LangGraph threads of agent '%s'",
				     cli->agent_name),
	};
	struct langgraph_thread_row *rows;
	const char *after = NULL;
	int n = 0;

	do {
		n = cli->agent.db
			    ? langgraph_threads(cli->agent.db, after, PAGE,
						&rows, &cli->arena, e)
			    : 0;
		for (int i = 0; i < n; i++)
			cli_list_add(&l, &rows[i]);
		if (n > 0)
			after = rows[n - 1].thread;
	} while (n == PAGE);
	if (n < 0)
		return -1;
	cli_list_end(&l);
	return 0;
}

const struct command cmd_langgraph_ls = {
	.name = "langgraph ls",
	.help = "list the LangGraph threads in the database of an "
		"agent",
	.needs = NEEDS_AGENT_MAYBE,
	.options = OPTIONS(OPT_LIST),
	.run = ls,
};
