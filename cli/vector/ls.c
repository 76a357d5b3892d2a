#include "cli/list.h"

#include "schema/agent_queries.h"

static int ls(struct cli *cli, struct err *e)
{
	struct cli_list l = {
		.cli = cli,
		.shape = &embedding_models_row_shape,
		.columns = "model dim vectors",
		.none = "no vectors; 'skep vector put SESSION' stores some",
	};

	return cli_list_query(&l, cli->agent.db, Q_EMBEDDING_MODELS, NULL, e);
}

const struct command cmd_vector_ls = {
	.name = "vector ls",
	.help = "list the models that have vectors, with their "
		"dimensions",
	.needs = NEEDS_AGENT_FILE,
	.options = OPTIONS(OPT_LIST),
	.run = ls,
};
