#include "cli/channel/channel_cli.h"
#include "cli/list.h"
#include "schema/control/cursor.h"

static int msg_ls(struct cli *cli, struct err *e)
{
	struct message_filter in = {.count = cli_number(cli, "limit", 100)};
	struct cli_list l = {
		.cli = cli,
		.shape = &message_row_shape,
		.columns = "id sender room session body created_at read_at",
		.none = "no messages; 'skep msg send ADDRESS TEXT' sends one",
		.limit = in.count,
	};
	struct address to;

	if (address_arg(cli, 0, &to, e) ||
	    page_before(ID_MESSAGE, cli_option(cli, "before"), &in.before, e))
		return -1;
	in.agent = to.agent;
	in.session = to.session;
	return cli_list_query(
		&l, cli->control,
		in.session ? Q_MESSAGE_LIST_SESSION : Q_MESSAGE_LIST, &in, e);
}

const struct command cmd_msg_ls = {
	.name = "msg ls",
	.args = "ADDRESS",
	.help = "list the messages sent to a session, newest first",
	.needs = NEEDS_CONTROL_READ,
	.arguments = ARGUMENTS(
		{"ADDRESS",
		 "AGENT/SESSION; AGENT alone stands for all sessions "
		 "of the agent"}),
	.options = OPTIONS(OPTION(TEXT, 0, "before", "ID",
				  "list only messages older than this one"),
			   OPT_LIMIT("list at most N messages (default 100)"),
			   OPT_LIST),
	.run = msg_ls,
};
