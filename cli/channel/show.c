#include "cli/channel/channel_cli.h"

static int channel_show(struct cli *cli, struct err *e)
{
	struct binding_list_in key = {cli_arg(cli, 0)};
	struct sql_rows it;
	struct binding_row row;
	struct table *t;

	if (!cli_flag(cli, "bindings"))
		return channel_print(cli, key.channel, e);
	it = sql_rows(cli->control, Q_BINDING_LIST, &key);
	t = table_new(&cli->out, &binding_row_shape,
		      "peer kind agent session threads");
	while (sql_next(&it, &row))
		table_add(t, &row);
	table_end(t);
	return sql_end(&it, e);
}

const struct command cmd_channel_show = {
	.name = "channel show",
	.args = "NAME",
	.help = "show a channel, or who answers whom on it",
	.needs = NEEDS_CONTROL_READ,
	.options =
		(const struct option_spec[]){
			{"bindings", NULL, "who answers whom", OPTION_FLAG},
			{NULL, NULL, NULL, OPTION_FLAG}},
	.run = channel_show,
};
