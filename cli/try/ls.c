#include "cli/list.h"
#include "cli/try/try_view.h"

static int try_ls(struct cli *cli, struct err *e)
{
	const char *before = cli_option(cli, "before");
	struct experiment_list_in in = {before ? before : "~",
					cli_number(cli, "limit", 50)};
	struct cli_list l = {
		.cli = cli,
		.shape = &experiment_row_shape,
		.columns = "id state agent source variants trials done "
			   "succeeded passed picked created_at",
		.limit = in.count,
		.none = "no experiments; 'skep try AGENT PROMPT' starts one",
	};

	return cli_list_query(&l, cli->control, Q_EXPERIMENT_LIST, &in, e);
}

const struct command cmd_try_ls = {
	.name = "try ls",
	.help = "list experiments",
	.needs = NEEDS_CONTROL_READ,
	.options = OPTIONS(OPT_LIMIT("list at most N experiments (default 50)"),
			   OPTION(TEXT, 0, "before", "EXPERIMENT",
				  "list experiments older than this one"),
			   OPT_LIST),
	.run = try_ls,
};
