#include "cli/channel/channel_cli.h"
#include "cli/list.h"

static int channel_show(struct cli *cli, struct err *e)
{
	struct binding_list_in key = {cli_arg(cli, 0)};
	struct cli_list l = {
		.cli = cli,
		.shape = &binding_row_shape,
		.columns = "peer kind agent session session_per",
		.none = "no bindings; the channel's setting 'agent' or the "
			"default agent answers",
	};

	if (!cli_flag(cli, "bindings"))
		return channel_print(cli, key.channel, e);
	return cli_list_query(&l, cli->control, Q_BINDING_LIST, &key, e);
}

const struct command cmd_channel_show = {
	.name = "channel show",
	.args = "CHANNEL...",
	.each = true,
	.help = "show a channel, or its bindings",
	.needs = NEEDS_CONTROL_READ,
	.options = OPTIONS(
		FLAG(0, "bindings", "list the bindings of the channel")),
	.run = channel_show,
};
