#include "cli/delivery/delivery_find.h"
#include "cli/list.h"

static int show_attempts(struct cli *cli, const struct delivery_row *d,
			 struct err *e)
{
	struct delivery_attempt_list_in key = {d->seq};
	struct cli_list l = {
		.cli = cli,
		.shape = &delivery_attempt_row_shape,
		.columns = "n outcome remote_status detail started_at ended_at",
		.none = "no failed attempts",
	};

	return cli_list_query(&l, cli->control, Q_DELIVERY_ATTEMPT_LIST, &key,
			      e);
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
	.args = "DELIVERY...",
	.each = true,
	.help = "show a delivery, or its failed attempts",
	.needs = NEEDS_CONTROL_READ,
	.options = OPTIONS(FLAG(0, "attempts", "list the failed attempts")),
	.run = delivery_show,
};
