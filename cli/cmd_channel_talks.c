#include "cli/cli.h"
#include "schema/channels.h"

static int list(struct cli *cli, struct err *e)
{
	struct conversation_list_in in = {
		.channel = cli_arg(cli, 0),
		.before = INT64_MAX,
		.before_id = "~",
		.count = cli_number(cli, "limit", 100),
	};
	struct sql_rows it = sql_rows(cli->control, Q_CONVERSATION_LIST, &in);
	struct table *t = table_new(&cli->out, &conversation_row_shape,
				    "id channel peer thread kind agent session "
				    "messages last_message_at");
	struct conversation_row row;

	while (sql_next(&it, &row))
		table_add(t, &row);
	table_end(t);
	return sql_end(&it, e);
}

static int channel_talks(struct cli *cli, struct err *e)
{
	const char *name = cli_arg(cli, 0);
	struct channel_row row;

	if (name && channels_get(cli->control, name, &row, &cli->arena, e))
		return -1;
	return list(cli, e);
}

const struct command cmd_channel_talks = {
	.name = "channel talks",
	.args = "[NAME]",
	.help = "list conversations, the liveliest first",
	.needs = NEEDS_CONTROL_READ,
	.options =
		(const struct option_spec[]){
			{"limit", "N", "at most so many (100)", OPTION_INT},
			{NULL, NULL, NULL, OPTION_FLAG}},
	.run = channel_talks,
};
