#include "cli/list.h"

#include "schema/control/cursor.h"
#include "schema/vocab.h"

static int inbound_ls(struct cli *cli, struct err *e)
{
	struct inbound_filter in = {
		.channel = cli_option(cli, "channel"),
		.state = cli_option(cli, "state"),
		.conversation = cli_option(cli, "conversation"),
		.count = cli_number(cli, "limit", 100),
	};
	struct cli_list l = {
		.cli = cli,
		.shape = &inbound_row_shape,
		.columns = "id channel sender kind state reason run "
			   "received_at",
		.none = "no inbound messages",
		.limit = in.count,
	};

	if (page_before(ID_INBOUND, cli_option(cli, "before"), &in.before, e))
		return -1;
	return cli_list_control(&l, LISTS_INBOUND, &in, e);
}

const struct command cmd_inbound_ls = {
	.name = "inbound ls",
	.help = "list inbound messages, newest first",
	.needs = NEEDS_CONTROL_READ,
	.options = OPTIONS(OPTION(NAME, 0, "channel", "CHANNEL",
				  "list only messages of this channel"),
			   OPTION(WORD, 0, "state", vocab_control_inbound_state,
				  "list only messages in this state"),
			   OPTION(TEXT, 0, "conversation", "ID",
				  "list only messages of this conversation"),
			   OPTION(TEXT, 0, "before", "MESSAGE",
				  "list only messages older than this one"),
			   OPT_LIMIT("list at most N messages (default 100)"),
			   OPT_LIST),
	.run = inbound_ls,
};
