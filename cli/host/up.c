#include "cli/host/daemon.h"

static int up(struct cli *cli, struct err *e)
{
	return cli_flag(cli, "foreground") ? daemon_foreground(cli, e)
					   : daemon_up(cli, e);
}

const struct command cmd_up = {
	.name = "up",
	.help = "start the supervisor of this home",
	.about = "The supervisor adopts the runs that are still active. The "
		 "command returns when the supervisor accepts requests. If a "
		 "supervisor is already running, the command has no effect; if "
		 "one is stopping, the command waits for its end and then "
		 "starts a new one.",
	.needs = NEEDS_CONFIG,
	.options = OPTIONS(FLAG(0, "foreground",
				"stay in the foreground and log to stderr")),
	.run = up,
};
