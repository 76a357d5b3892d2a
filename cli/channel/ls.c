#include "cli/channel/channel_cli.h"

static int channel_ls(struct cli *cli, struct err *e)
{
	struct sql_rows it = sql_rows(cli->control, Q_CHANNEL_LIST, NULL);
	struct table *t = table_new(
		&cli->out, &channel_row_shape,
		"name kind is_enabled is_paused state delivered "
		"failed received trouble");
	struct channel_row row;

	while (sql_next(&it, &row)) {
		channel_judge_from_outside(cli, &row);
		table_add(t, &row);
	}
	table_end(t);
	return sql_end(&it, e);
}

const struct command cmd_channel_ls = {
	.name = "channel ls",
	.help = "list channels",
	.needs = NEEDS_CONTROL_READ,
	.run = channel_ls,
};
