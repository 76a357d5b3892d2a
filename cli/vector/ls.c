#include "cli/cli.h"

#include "schema/agent_queries.h"

static int ls(struct cli *cli, struct err *e)
{
	struct sql_rows it = sql_rows(cli->agent.db, Q_EMBEDDING_MODELS, NULL);
	struct table *t = table_new(&cli->out, &embedding_models_row_shape,
				    "model dim vectors");
	struct embedding_models_row row;

	while (sql_next(&it, &row))
		table_add(t, &row);
	table_end(t);
	return sql_end(&it, e);
}

const struct command cmd_vector_ls = {
	.name = "vector ls",
	.help = "list models, the length of their vectors and how many",
	.needs = NEEDS_AGENT_FILE,
	.run = ls,
};
