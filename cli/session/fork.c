#include "cli/cli.h"

#include "schema/agent/transcript/branch.h"

static int session_fork_cmd(struct cli *cli, struct err *e)
{
	struct fork_new n = {.from = cli_arg(cli, 0),
			     .key = cli_arg(cli, 1),
			     .at = cli_number(cli, "at", 0),
			     .title = cli_option(cli, "title"),
			     .copy = cli_flag(cli, "copy"),
			     .is_ephemeral = cli_flag(cli, "ephemeral")};
	struct session_row row;

	if (session_fork(&cli->agent, &n, &row, &cli->arena, e))
		return -1;
	output_object(&cli->out, &session_row_shape, &row);
	return 0;
}

const struct command cmd_session_fork = {
	.name = "session fork",
	.args = "SESSION NEW",
	.help = "begin a session NEW where another one stands",
	.about = "By pointer: nothing is copied, however long the history. "
		 "Standing permissions are\nnot inherited.",
	.needs = NEEDS_AGENT_FILE,
	.options =
		(const struct option_spec[]){
			{"at", "SEQ", "last event to take along", OPTION_INT},
			{"copy", NULL, "copy the events, with new ids",
			 OPTION_FLAG},
			{"title", "TEXT", "title of the new session",
			 OPTION_TEXT},
			{"ephemeral", NULL, "hide it from lists", OPTION_FLAG},
			{NULL, NULL, NULL, OPTION_FLAG}},
	.run = session_fork_cmd,
};
