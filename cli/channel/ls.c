#include "cli/channel/channel_cli.h"
#include "cli/list.h"

static void hide_stale_state(struct cli *cli, void *row)
{
	channel_hide_stale_state(cli, row);
}

static int channel_ls(struct cli *cli, struct err *e)
{
	struct cli_list l = {
		.cli = cli,
		.shape = &channel_row_shape,
		.columns = "name kind is_enabled is_paused state delivered "
			   "failed received last_error",
		.none = "no channels; 'skep channel add NAME KIND' makes one",
		.prepare = hide_stale_state,
	};

	return cli_list_query(&l, cli->control, Q_CHANNEL_LIST, NULL, e);
}

const struct command cmd_channel_ls = {
	.name = "channel ls",
	.help = "list channels",
	.needs = NEEDS_CONTROL_READ,
	.options = OPTIONS(OPT_LIST),
	.run = channel_ls,
};
