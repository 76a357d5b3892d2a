#include "cli/list.h"

static int sandbox_ls(struct cli *cli, struct err *e)
{
	struct sandbox_list_in in = {cli_option(cli, "agent")};
	struct cli_list l = {
		.cli = cli,
		.shape = &sandbox_row_shape,
		.columns = "run agent attempt mode network limits pid made_at",
		.none = "no sandboxes; a run has one while it is active",
	};

	return cli_list_query(&l, cli->control, Q_SANDBOX_LIST, &in, e);
}

const struct command cmd_sandbox_ls = {
	.name = "sandbox ls",
	.help = "list the sandboxes of active runs",
	.about = "Limits are those in effect. 'skep agent show AGENT' prints "
		 "the settings that they follow from.",
	.needs = NEEDS_CONTROL_READ | NEEDS_NO_SETTING,
	.options = OPTIONS(OPT_AGENT("list only sandboxes of this agent"),
			   OPT_LIST),
	.run = sandbox_ls,
};
