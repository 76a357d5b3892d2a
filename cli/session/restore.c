#include "cli/cli.h"

#include "schema/agent/transcript/branch.h"

static int restore(struct cli *cli, struct err *e)
{
	if (session_restore(&cli->agent, cli_arg(cli, 0), e))
		return -1;
	return cli_print_session(cli, cli_arg(cli, 0), e);
}

const struct command cmd_session_restore = {
	.name = "session restore",
	.args = "SESSION",
	.help = "undo the last rewind",
	.needs = NEEDS_AGENT_FILE,
	.run = restore,
};
