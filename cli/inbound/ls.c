#include "cli/page.h"
#include "schema/control/cursor.h"
#include "schema/control/lists.h"

static int inbound_ls(struct cli *cli, struct err *e)
{
	struct page page = page_begin(cli, 100);
	struct inbound_filter in = {
		.channel = cli_option(cli, "channel"),
		.state = cli_option(cli, "state"),
		.conversation = cli_option(cli, "conversation"),
		.count = page.limit,
	};
	struct lists it;
	struct table *t;
	struct inbound_row row;

	if (page_before(ID_INBOUND, cli_option(cli, "before"), &in.before, e) ||
	    lists_open(&it, cli->control, LISTS_INBOUND, &in, e))
		return -1;
	t = table_new(&cli->out, &inbound_row_shape,
		      "id channel sender kind state reason run received_at");
	while (lists_next(&it, &row)) {
		table_add(t, &row);
		page_row(&page, "%s", row.id);
	}
	table_end(t);
	page_end(cli, &page);
	return lists_close(&it, e);
}

const struct command cmd_inbound_ls = {
	.name = "inbound ls",
	.help = "list messages that came in, newest first",
	.needs = NEEDS_CONTROL_READ,
	.options =
		(const struct option_spec[]){
			{"channel", "NAME", "only of this channel",
			 OPTION_NAME},
			{"state", "queued|noted|dead|dismissed",
			 "only in this state", OPTION_WORD},
			{"conversation", "ID", "only of this conversation",
			 OPTION_TEXT},
			{"before", "MESSAGE", "only older than this one",
			 OPTION_TEXT},
			{"limit", "N", "at most so many (100)", OPTION_COUNT},
			{NULL, NULL, NULL, OPTION_FLAG}},
	.run = inbound_ls,
};
