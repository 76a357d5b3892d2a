/* session archive and unarchive. */
#include "cli/cli.h"

#include "schema/agent/transcript/session.h"

static int set_status(struct cli *cli, const char *patch, const char *done,
		      struct err *e)
{
	struct session_row row;

	if (session_patch(&cli->agent, cli_arg(cli, 0), patch, 0, &row,
			  &cli->arena, e))
		return -1;
	output_result(&cli->out, &session_row_shape, &row, "%s session %s",
		      done, cli_arg(cli, 0));
	return 0;
}

static int session_archive(struct cli *cli, struct err *e)
{
	return set_status(cli, "{\"status\":\"archived\"}", "archived", e);
}

static int session_unarchive(struct cli *cli, struct err *e)
{
	return set_status(cli, "{\"status\":\"active\"}", "unarchived", e);
}

const struct command cmd_session_archive = {
	.name = "session archive",
	.args = "SESSION...",
	.each = true,
	.help = "hide a session from lists",
	.needs = NEEDS_AGENT_FILE,
	.run = session_archive,
};

const struct command cmd_session_unarchive = {
	.name = "session unarchive",
	.args = "SESSION...",
	.each = true,
	.help = "make an archived session active again",
	.needs = NEEDS_AGENT_FILE,
	.run = session_unarchive,
};
