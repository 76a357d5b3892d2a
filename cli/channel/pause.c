#include "cli/channel/channel_cli.h"

static int channel_pause(struct cli *cli, struct err *e)
{
	return channel_switch(cli, "pause", e);
}

const struct command cmd_channel_pause = {
	.name = "channel pause",
	.args = "NAME",
	.help = "hold back what is to go out",
	.needs = NEEDS_CONTROL_WRITE,
	.run = channel_pause,
};
