#include "cli/cli.h"

#include "lib/base/text.h"
#include "schema/agent/transcript/branch.h"

static int session_rm(struct cli *cli, struct err *e)
{
	const char *what = arena_printf(
		&cli->arena, "session '%s' of agent '%s'",
		quoted(cli_arg(cli, 0)).text, cli->agent_name);

	if (cli_confirm(cli, what, e) ||
	    session_delete(&cli->agent, cli_arg(cli, 0), e))
		return -1;
	cli_done_to(cli, "session.rm", cli_arg(cli, 0));
	output_note(&cli->out, "removed session %s", cli_arg(cli, 0));
	return 0;
}

const struct command cmd_session_rm = {
	.name = "session rm",
	.args = "SESSION...",
	.each = true,
	.help = "delete a session; its forks keep their history",
	.about = "On a terminal, the command asks for confirmation.",
	.needs = NEEDS_AGENT_FILE,
	.options = OPTIONS(OPT_YES("do not ask for confirmation")),
	.run = session_rm,
};
