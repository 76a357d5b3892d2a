#include "cli/cli.h"
#include "lib/base/text.h"

/* For users: the result of the message. */
static int print_run(struct cli *cli, const char *run, struct err *e)
{
	struct run_get_in key = {run};
	struct run_row row;
	int found = sql_get(cli->control, Q_RUN_GET, &key, &row, &cli->arena,
			    e);

	if (found == 1)
		output_note(&cli->out, "run: %s (%s); see 'skep show %s'",
			    row.state, row.reason ? row.reason : "-", run);
	return found < 0 ? -1 : 0;
}

static int print_answers(struct cli *cli, const char *id, struct err *e)
{
	struct inbound_answers_in in = {id};
	struct sql_rows it = sql_rows(cli->control, Q_INBOUND_ANSWERS, &in);
	struct inbound_answers_row row;

	while (sql_next(&it, &row))
		output_note(&cli->out, "reply: %s; see 'skep delivery show %s'",
			    row.state, row.id);
	return sql_end(&it, e);
}

static int inbound_show(struct cli *cli, struct err *e)
{
	struct inbound_get_in key = {cli_arg(cli, 0)};
	struct inbound_row row;
	int found = sql_get(cli->control, Q_INBOUND_GET, &key, &row,
			    &cli->arena, e);

	if (found == 0)
		return err_set(e, ERR_NOTFOUND,
			       "there is no inbound message '%s'",
			       quoted(key.id).text);
	if (found < 0)
		return -1;
	output_object(&cli->out, &inbound_row_shape, &row);
	if (row.run && print_run(cli, row.run, e))
		return -1;
	return print_answers(cli, row.id, e);
}

const struct command cmd_inbound_show = {
	.name = "inbound show",
	.args = "MESSAGE...",
	.each = true,
	.help = "show an inbound message, its run and the reply",
	.needs = NEEDS_CONTROL_READ,
	.run = inbound_show,
};
