#include "cli/list.h"

#include "lib/base/text.h"
#include "schema/control/channel/channel.h"
#include "schema/control/cursor.h"

static void cursor_of(const void *arg, char out[64])
{
	const struct conversation_row *row = arg;

	text_printf(out, 64, "%lld.%s", (long long)row->last_message_at,
		    row->id);
}

static int conversation_ls(struct cli *cli, struct err *e)
{
	const char *channel = cli_option(cli, "channel");
	struct conversation_filter in = {
		.channel = channel,
		.count = cli_number(cli, "limit", 100),
	};
	struct cli_list l = {
		.cli = cli,
		.shape = &conversation_row_shape,
		.columns = "id channel peer thread kind agent session messages "
			   "last_message_at",
		.none = "no conversations",
		.limit = in.count,
		.cursor = cursor_of,
	};
	struct channel_row row;

	if ((channel &&
	     channels_get(cli->control, channel, &row, &cli->arena, e)) ||
	    page_before_conversation(cli->control, cli_option(cli, "before"),
				     &in, &cli->arena, e))
		return -1;
	return cli_list_control(&l, LISTS_CONVERSATIONS, &in, e);
}

const struct command cmd_conversation_ls = {
	.name = "conversation ls",
	.help = "list conversations, the most recently active first",
	.needs = NEEDS_CONTROL_READ,
	.options = OPTIONS(
		OPTION(NAME, 0, "channel", "CHANNEL",
		       "list only conversations of this channel"),
		OPTION(TEXT, 0, "before", "CURSOR",
		       "list only conversations last active before this one"),
		OPT_LIMIT("list at most N conversations (default 100)"),
		OPT_LIST),
	.run = conversation_ls,
};
