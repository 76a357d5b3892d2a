#include "cli/channel/channel_cli.h"

static int channel_disable(struct cli *cli, struct err *e)
{
	return channel_switch(cli, "disable", e);
}

const struct command cmd_channel_disable = {
	.name = "channel disable",
	.args = "NAME",
	.help = "stop using a channel; what is to go out waits",
	.needs = NEEDS_CONTROL_WRITE,
	.run = channel_disable,
};
