#include "cli/cli.h"

static int inbound_ls(struct cli *cli, struct err *e)
{
	const char *before = cli_option(cli, "before");
	struct inbound_list_in in = {
		.before = before ? before : "~",
		.channel = cli_option(cli, "channel"),
		.state = cli_option(cli, "state"),
		.conversation = cli_option(cli, "conversation"),
		.count = cli_number(cli, "limit", 100),
	};
	struct sql_rows it = sql_rows(cli->control, Q_INBOUND_LIST, &in);
	struct table *t = table_new(
		&cli->out, &inbound_row_shape,
		"id channel sender kind state reason run received_at");
	struct inbound_row row;

	while (sql_next(&it, &row))
		table_add(t, &row);
	table_end(t);
	return sql_end(&it, e);
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
			{"limit", "N", "at most so many (100)", OPTION_INT},
			{NULL, NULL, NULL, OPTION_FLAG}},
	.run = inbound_ls,
};
