#include "cli/delivery/delivery_find.h"

static int show_attempts(struct cli *cli, const struct delivery_row *d,
			 struct err *e)
{
	struct delivery_attempt_list_in key = {d->seq};
	struct sql_rows it = sql_rows(cli->control, Q_DELIVERY_ATTEMPT_LIST,
				      &key);
	struct table *t = table_new(
		&cli->out, &delivery_attempt_row_shape,
		"n outcome remote_status detail started_at ended_at");
	struct delivery_attempt_row row;

	while (sql_next(&it, &row))
		table_add(t, &row);
	table_end(t);
	return sql_end(&it, e);
}

static int delivery_show(struct cli *cli, struct err *e)
{
	struct delivery_row row;

	if (delivery_find(cli, cli_arg(cli, 0), &row, e))
		return -1;
	if (cli_flag(cli, "attempts"))
		return show_attempts(cli, &row, e);
	output_object(&cli->out, &delivery_row_shape, &row);
	return 0;
}

const struct command cmd_delivery_show = {
	.name = "delivery show",
	.args = "DELIVERY",
	.help = "show a delivery, or its failed attempts",
	.needs = NEEDS_CONTROL_READ,
	.options = OPTIONS(FLAG(0, "attempts", "list the failed attempts")),
	.run = delivery_show,
};
