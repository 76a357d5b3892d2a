#include "cli/remote.h"

static int cmd(struct cli *cli, struct err *e)
{
	return remote_post(
		cli, remote_path(cli, ID_RUN, cli_arg(cli, 0), "pause", e),
		NULL, e);
}

const struct command cmd_pause = {
	.name = "pause",
	.args = "RUN",
	.help = "let a run stand still",
	.about = "A driver that cannot pause has its processes stopped.",
	.needs = NEEDS_SUPERVISOR,
	.run = cmd,
};
