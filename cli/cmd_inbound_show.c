#include "base/text.h"
#include "cli/cli.h"

static int inbound_show(struct cli *cli, struct err *e)
{
	struct inbound_get_in key = {cli_arg(cli, 0)};
	struct inbound_row row;
	int found = sql_get(cli->control, Q_INBOUND_GET, &key, &row,
			    &cli->arena, e);

	if (found == 0)
		return err_set(e, ERR_NOTFOUND, "there is no message %s",
			       quoted(key.id).text);
	if (found < 0)
		return -1;
	output_object(&cli->out, &inbound_row_shape, &row);
	return 0;
}

const struct command cmd_inbound_show = {
	.name = "inbound show",
	.args = "MESSAGE",
	.help = "show a message that came in, and its run",
	.needs = NEEDS_CONTROL_READ,
	.run = inbound_show,
};
