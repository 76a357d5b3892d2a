#include "cli/channel/channel_cli.h"

static int channel_resume(struct cli *cli, struct err *e)
{
	return channel_switch(cli, "resume", e);
}

const struct command cmd_channel_resume = {
	.name = "channel resume",
	.args = "NAME",
	.help = "let a channel that is paused or held go on",
	.needs = NEEDS_CONTROL_WRITE,
	.run = channel_resume,
};
