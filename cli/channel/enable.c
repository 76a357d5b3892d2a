#include "cli/channel/channel_cli.h"

static int channel_enable(struct cli *cli, struct err *e)
{
	return channel_switch(cli, "enable", e);
}

const struct command cmd_channel_enable = {
	.name = "channel enable",
	.args = "NAME",
	.help = "use a channel",
	.about = "A plugin that failed and waits before its next start is "
		 "started at once.",
	.needs = NEEDS_CONTROL_WRITE,
	.run = channel_enable,
};
