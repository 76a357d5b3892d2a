#include "cli/host/daemon.h"

static int restart(struct cli *cli, struct err *e)
{
	if (daemon_check(cli, e) || daemon_stop(cli, "restart", 0, e))
		return -1;
	return daemon_up(cli, e);
}

const struct command cmd_restart = {
	.name = "restart",
	.help = "replace the supervisor without stopping runs",
	.about = "The configuration and the listen address are "
		 "checked first. If the new supervisor cannot start, "
		 "the old one keeps running.",
	.needs = NEEDS_CONFIG,
	.run = restart,
};
