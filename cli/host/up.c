#include "cli/host/daemon.h"

static int up(struct cli *cli, struct err *e)
{
	return cli_flag(cli, "foreground") ? daemon_foreground(cli, e)
					   : daemon_up(cli, e);
}

const struct command cmd_up = {
	.name = "up",
	.help = "start the supervisor of this home",
	.about = "Runs that were going on when it last went are adopted.",
	.needs = NEEDS_CONFIG,
	.options = (const struct option_spec[]){{"foreground", NULL,
						 "stay here, and log to stderr",
						 OPTION_FLAG},
						{NULL, NULL, NULL,
						 OPTION_FLAG}},
	.run = up,
};
