#include "base/text.h"
#include "cli/cli.h"

static int show_attempts(struct cli *cli, const struct delivery_row *d,
			 struct err *e)
{
	struct delivery_attempt_list_in key = {d->seq};
	struct sql_rows it = sql_rows(cli->control, Q_DELIVERY_ATTEMPT_LIST,
				      &key);
	struct table *t = table_new(
		&cli->out, &delivery_attempt_row_shape,
		"n outcome code detail started_at ended_at");
	struct delivery_attempt_row row;

	while (sql_next(&it, &row))
		table_add(t, &row);
	table_end(t);
	return sql_end(&it, e);
}

static int delivery_show(struct cli *cli, struct err *e)
{
	struct delivery_get_in key = {cli_arg(cli, 0)};
	struct delivery_row row;
	int found = sql_get(cli->control, Q_DELIVERY_GET, &key, &row,
			    &cli->arena, e);

	if (found == 0)
		return err_set(e, ERR_NOTFOUND, "there is no delivery %s",
			       quoted(key.id).text);
	if (found < 0)
		return -1;
	if (cli_flag(cli, "attempts"))
		return show_attempts(cli, &row, e);
	output_object(&cli->out, &delivery_row_shape, &row);
	return 0;
}

const struct command cmd_delivery_show = {
	.name = "delivery show",
	.args = "DELIVERY",
	.help = "show a message that goes out, or its failed attempts",
	.needs = NEEDS_CONTROL_READ,
	.options = (const struct option_spec[]){{"attempts", NULL,
						 "those that did not succeed",
						 OPTION_FLAG},
						{NULL, NULL, NULL,
						 OPTION_FLAG}},
	.run = delivery_show,
};
