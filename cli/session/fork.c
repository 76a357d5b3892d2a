#include "cli/cli.h"

#include "schema/agent/transcript/branch.h"
#include "vfs/marker/session_files.h"

#include <inttypes.h>

static int session_fork_cmd(struct cli *cli, struct err *e)
{
	struct fork_new n = {.from = cli_arg(cli, 0),
			     .key = cli_arg(cli, 1),
			     .at = cli_number(cli, "at", 0),
			     .title = cli_option(cli, "title"),
			     .copy = cli_flag(cli, "copy"),
			     .is_ephemeral = cli_flag(cli, "ephemeral")};
	struct session_row row;

	if (cli_flag(cli, "files")
		    ? session_fork_files(&cli->agent, &n,
					 cli_option(cli, "workspace"), &row,
					 &cli->arena, e)
		    : session_fork(&cli->agent, &n, &row, &cli->arena, e))
		return -1;
	output_result(&cli->out, &session_row_shape, &row,
		      "forked session %s as %s %s event %" PRId64, n.from,
		      n.key,
		      n.copy ? "with a copy of the events up to" : "after",
		      n.at ? n.at : row.base_seq);
	return 0;
}

const struct command cmd_session_fork = {
	.name = "session fork",
	.args = "SESSION NEW",
	.help = "create session NEW as a fork of SESSION",
	.about = "The fork refers to the events of SESSION and copies "
		 "nothing, however long the history is. Standing "
		 "permissions are not inherited.",
	.needs = NEEDS_AGENT_FILE,
	.arguments = ARGUMENTS({"NEW", "key of the new session"}),
	.options = OPTIONS(
		OPTION(INT, 0, "at", "SEQ",
		       "fork after this event (default: the last one)"),
		FLAG(0, "copy", "copy the events and give them new ids"),
		OPTION(TEXT, 0, "title", "TEXT", "title of the new session"),
		FLAG(0, "files",
		     "fork the workspace at the same point, for the runs of "
		     "the new session"),
		OPTION(NAME, 0, "workspace", "NAME",
		       "name of that fork (default NEW)"),
		FLAG(0, "ephemeral", "hide the new session from lists")),
	.run = session_fork_cmd,
};
