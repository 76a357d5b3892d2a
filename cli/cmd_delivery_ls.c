#include "cli/cli.h"

static int delivery_ls(struct cli *cli, struct err *e)
{
	struct delivery_list_in in = {
		.before = INT64_MAX,
		.channel = cli_option(cli, "channel"),
		.state = cli_option(cli, "state"),
		.conversation = cli_option(cli, "conversation"),
		.count = cli_number(cli, "limit", 100),
	};
	struct sql_rows it = sql_rows(cli->control, Q_DELIVERY_LIST, &in);
	struct table *t = table_new(
		&cli->out, &delivery_row_shape,
		"id channel state attempts code detail created_at");
	struct delivery_row row;

	while (sql_next(&it, &row))
		table_add(t, &row);
	table_end(t);
	return sql_end(&it, e);
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
			{"limit", "N", "at most so many (100)", OPTION_INT},
			{NULL, NULL, NULL, OPTION_FLAG}},
	.run = delivery_ls,
};
