#include "cli/remote.h"

static int retry(struct cli *cli, struct err *e)
{
	return remote_post(
		cli, remote_path(cli, ID_RUN, cli_arg(cli, 0), "retry", e),
		NULL, e);
}

const struct command cmd_retry = {
	.name = "retry",
	.args = "RUN",
	.help = "start a new run with the input of one that is over",
	.needs = NEEDS_SUPERVISOR,
	.run = retry,
};
