#include "cli/remote.h"

static int resume(struct cli *cli, struct err *e)
{
	return remote_post(
		cli, remote_path(cli, ID_RUN, cli_arg(cli, 0), "resume", e),
		NULL, e);
}

const struct command cmd_resume = {
	.name = "resume",
	.args = "RUN",
	.help = "let a paused run go on",
	.needs = NEEDS_SUPERVISOR,
	.run = resume,
};
