#include "cli/cli.h"

static int msg_ls(struct cli *cli, struct err *e)
{
	const char *before = cli_option(cli, "before");
	struct message_list_in in = {
		.agent = cli_arg(cli, 0),
		.session = cli_arg(cli, 1),
		.before = before ? before : "~",
		.count = cli_number(cli, "limit", 100),
	};
	struct sql_rows it = sql_rows(cli->control, Q_MESSAGE_LIST, &in);
	struct table *t = table_new(
		&cli->out, &message_row_shape,
		"id sender room session body created_at read_at");
	struct message_row row;

	while (sql_next(&it, &row))
		table_add(t, &row);
	table_end(t);
	return sql_end(&it, e);
}

const struct command cmd_msg_ls = {
	.name = "msg ls",
	.args = "NAME [SESSION]",
	.help = "list messages to the sessions of an agent",
	.needs = NEEDS_CONTROL_READ,
	.options =
		(const struct option_spec[]){
			{"before", "MESSAGE", "only older than this one",
			 OPTION_TEXT},
			{"limit", "N", "at most so many (100)", OPTION_INT},
			{NULL, NULL, NULL, OPTION_FLAG}},
	.run = msg_ls,
};
