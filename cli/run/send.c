#include "cli/remote.h"

static int cmd(struct cli *cli, struct err *e)
{
	return remote_post(
		cli, remote_path(cli, ID_RUN, cli_arg(cli, 0), "messages", e),
		remote_text(cli, "text", cli_arg(cli, 1)), e);
}

const struct command cmd_send = {
	.name = "send",
	.args = "RUN TEXT",
	.help = "say something to a run that is running",
	.needs = NEEDS_SUPERVISOR,
	.run = cmd,
};
