#include "cli/page.h"
#include "schema/control/channel/channel.h"
#include "schema/control/cursor.h"
#include "schema/control/lists.h"

static int list_conversations(struct cli *cli, struct err *e)
{
	struct page page = page_begin(cli, 100);
	struct conversation_filter in = {
		.channel = cli_arg(cli, 0),
		.count = page.limit,
	};
	struct lists it;
	struct conversation_row row;
	struct table *t;

	if (page_before_conversation(cli->control, cli_option(cli, "before"),
				     &in, &cli->arena, e) ||
	    lists_open(&it, cli->control, LISTS_CONVERSATIONS, &in, e))
		return -1;
	t = table_new(&cli->out, &conversation_row_shape,
		      "id channel peer thread kind agent session messages "
		      "last_message_at");
	while (lists_next(&it, &row)) {
		table_add(t, &row);
		page_row(&page, "%lld.%s", (long long)row.last_message_at,
			 row.id);
	}
	table_end(t);
	page_end(cli, &page);
	return lists_close(&it, e);
}

static int channel_talks(struct cli *cli, struct err *e)
{
	const char *name = cli_arg(cli, 0);
	struct channel_row row;

	if (name && channels_get(cli->control, name, &row, &cli->arena, e))
		return -1;
	return list_conversations(cli, e);
}

const struct command cmd_channel_talks = {
	.name = "channel talks",
	.args = "[NAME]",
	.help = "list conversations, the liveliest first",
	.needs = NEEDS_CONTROL_READ,
	.options =
		(const struct option_spec[]){
			{"before", "CONVERSATION",
			 "only those that come after this one", OPTION_TEXT},
			{"limit", "N", "at most so many (100)", OPTION_COUNT},
			{NULL, NULL, NULL, OPTION_FLAG}},
	.run = channel_talks,
};
