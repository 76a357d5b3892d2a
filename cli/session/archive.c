#include "cli/cli.h"

#include "schema/agent/transcript/session.h"

static int archive(struct cli *cli, struct err *e)
{
	const char *patch = cli_flag(cli, "undo") ? "{\"status\":\"active\"}"
						  : "{\"status\":\"archived\"}";
	struct session_row row;

	if (session_patch(&cli->agent, cli_arg(cli, 0), patch, 0, &row,
			  &cli->arena, e))
		return -1;
	output_object(&cli->out, &session_row_shape, &row);
	return 0;
}

const struct command cmd_session_archive = {
	.name = "session archive",
	.args = "SESSION",
	.help = "take a session out of the lists, or with --undo back in",
	.needs = NEEDS_AGENT_FILE,
	.options =
		(const struct option_spec[]){
			{"undo", NULL, "make it active again", OPTION_FLAG},
			{NULL, NULL, NULL, OPTION_FLAG}},
	.run = archive,
};
