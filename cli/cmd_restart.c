#include "cli/daemon.h"

static int restart(struct cli *cli, struct err *e)
{
	if (daemon_stop(cli, "restart", e))
		return -1;
	return daemon_up(cli, e);
}

const struct command cmd_restart = {
	.name = "restart",
	.help = "replace the supervisor; runs go on",
	.needs = NEEDS_CONFIG,
	.run = restart,
};
