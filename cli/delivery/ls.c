#include "cli/list.h"

#include "schema/control/channel/run_deliveries.h"
#include "schema/control/cursor.h"

static int delivery_ls(struct cli *cli, struct err *e)
{
	const char *run = cli_option(cli, "run");
	struct delivery_filter in = {
		.channel = cli_option(cli, "channel"),
		.state = cli_option(cli, "state"),
		.conversation = cli_option(cli, "conversation"),
		.agent = cli_option(cli, "agent"),
		.session = cli_option(cli, "session"),
		.count = cli_number(cli, "limit", 100),
	};
	struct cli_list l = {
		.cli = cli,
		.shape = &delivery_row_shape,
		.columns = "id channel state attempts remote_status created_at "
			   "detail",
		.none = "no deliveries; 'skep delivery send CHANNEL TEXT' "
			"sends a message",
		.limit = in.count,
	};

	if (page_before_delivery(cli->control, cli_option(cli, "before"),
				 &in.before, e) ||
	    (run &&
	     run_sources(cli->control, run, &in.sources, &cli->arena, e)))
		return -1;
	return cli_list_control(&l, LISTS_DELIVERIES, &in, e);
}

const struct command cmd_delivery_ls = {
	.name = "delivery ls",
	.help = "list deliveries, newest first",
	.needs = NEEDS_CONTROL_READ,
	.options = OPTIONS(
		OPTION(NAME, 0, "channel", "CHANNEL",
		       "list only deliveries on this channel"),
		OPTION(WORD, 0, "state",
		       "pending|sending|unknown|delivered|dead|discarded",
		       "list only deliveries in this state"),
		OPTION(TEXT, 0, "conversation", "ID",
		       "list only deliveries of this conversation"),
		OPT_AGENT("list only deliveries of this agent"),
		OPTION(TEXT, 's', "session", "SESSION",
		       "list only deliveries of this session"),
		OPTION(TEXT, 0, "run", "RUN",
		       "list only deliveries of this run"),
		OPTION(TEXT, 0, "before", "DELIVERY",
		       "list only deliveries older than this one"),
		OPT_LIMIT("list at most N deliveries (default 100)"), OPT_LIST),
	.run = delivery_ls,
};
