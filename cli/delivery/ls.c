#include "cli/page.h"
#include "schema/control/channel/run_deliveries.h"
#include "schema/control/cursor.h"
#include "schema/control/lists.h"

static int delivery_ls(struct cli *cli, struct err *e)
{
	struct page page = page_begin(cli, 100);
	const char *run = cli_option(cli, "run");
	struct delivery_filter in = {
		.channel = cli_option(cli, "channel"),
		.state = cli_option(cli, "state"),
		.conversation = cli_option(cli, "conversation"),
		.agent = cli_option(cli, "agent"),
		.session = cli_option(cli, "session"),
		.count = page.limit,
	};
	struct lists it;
	struct table *t;
	struct delivery_row row;

	if (page_before_delivery(cli->control, cli_option(cli, "before"),
				 &in.before, e) ||
	    (run &&
	     run_sources(cli->control, run, &in.sources, &cli->arena, e)) ||
	    lists_open(&it, cli->control, LISTS_DELIVERIES, &in, e))
		return -1;
	t = table_new(&cli->out, &delivery_row_shape,
		      "id channel state attempts code created_at detail");
	while (lists_next(&it, &row)) {
		table_add(t, &row);
		page_row(&page, "%s", row.id);
	}
	table_end(t);
	page_end(cli, &page);
	return lists_close(&it, e);
}

const struct command cmd_delivery_ls = {
	.name = "delivery ls",
	.help = "list messages that go out, newest first",
	.needs = NEEDS_CONTROL_READ,
	.options =
		(const struct option_spec[]){
			{"channel", "NAME", "only of this channel",
			 OPTION_NAME},
			{"state",
			 "pending|sending|unknown|delivered|dead|dismissed",
			 "only in this state", OPTION_WORD},
			{"conversation", "ID", "only of this conversation",
			 OPTION_TEXT},
			{"agent", "NAME", "only from this agent", OPTION_NAME},
			{"session", "KEY",
			 "only from the session with this key", OPTION_TEXT},
			{"run", "RUN", "only what this run sent", OPTION_TEXT},
			{"before", "DELIVERY", "only older than this one",
			 OPTION_TEXT},
			{"limit", "N", "at most so many (100)", OPTION_COUNT},
			{NULL, NULL, NULL, OPTION_FLAG}},
	.run = delivery_ls,
};
