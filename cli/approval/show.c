#include "cli/cli.h"
#include "lib/base/text.h"

static int approval_show(struct cli *cli, struct err *e)
{
	struct approval_get_in key = {cli_arg(cli, 0)};
	struct approval_row row;
	int found = sql_get(cli->control, Q_APPROVAL_GET, &key, &row,
			    &cli->arena, e);

	if (found < 0)
		return -1;
	if (found == 0)
		return err_set(e, ERR_NOTFOUND, "there is no approval '%s'",
			       quoted(key.id).text);
	output_object(&cli->out, &approval_row_shape, &row);
	return 0;
}

const struct command cmd_approval_show = {
	.name = "approval show",
	.args = "APPROVAL...",
	.each = true,
	.help = "show an approval: the question, its options and its "
		"answer",
	.needs = NEEDS_CONTROL_READ | NEEDS_NO_SETTING,
	.run = approval_show,
};
