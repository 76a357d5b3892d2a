#include "cli/cli.h"

#include "lib/base/text.h"
#include "schema/agent/search/vector_search.h"

static int rm(struct cli *cli, struct err *e)
{
	struct embedding_put gone = {.session = cli_arg(cli, 0),
				     .model = cli_option(cli, "model")};

	if (!gone.model)
		return err_set(e, ERR_USAGE,
			       "--model is required: the model that "
			       "computed the vector");
	if (text_i64("SEQ", cli_arg(cli, 1), 1, INT32_MAX, &gone.seq, e) ||
	    cli_confirm(cli,
			arena_printf(&cli->arena,
				     "the vector of event %s of session %s",
				     cli_arg(cli, 1), gone.session),
			e) ||
	    embedding_put(&cli->agent, &gone, e))
		return -1;
	output_note(&cli->out,
		    "removed the vector of event %s of session %s for model "
		    "%s",
		    cli_arg(cli, 1), gone.session, gone.model);
	return 0;
}

const struct command cmd_vector_rm = {
	.name = "vector rm",
	.args = "SESSION SEQ",
	.help = "delete the embedding of an event",
	.needs = NEEDS_AGENT_FILE,
	.options = OPTIONS(OPTION(TEXT, 'm', "model", "MODEL",
				  "model that computed the vector"),
			   OPT_YES("do not ask for confirmation")),
	.run = rm,
};
