#include "cli/cli.h"

#include "schema/agent/transcript/branch.h"

static int session_rm(struct cli *cli, struct err *e)
{
	if (session_delete(&cli->agent, cli_arg(cli, 0), e))
		return -1;
	cli_done_to(cli, "session.rm", cli_arg(cli, 0));
	output_note(&cli->out, "removed %s", cli_arg(cli, 0));
	return 0;
}

const struct command cmd_session_rm = {
	.name = "session rm",
	.args = "SESSION",
	.help = "delete a session; its forks keep their history",
	.needs = NEEDS_AGENT_FILE,
	.run = session_rm,
};
