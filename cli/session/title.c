#include "cli/cli.h"

#include "lib/json/json.h"
#include "schema/agent/transcript/session.h"

static int title(struct cli *cli, struct err *e)
{
	const char *text = cli_arg(cli, 1);
	struct buf patch = BUF_MAX(SESSION_META_MAX);
	struct session_row row;
	int rc;

	json_begin_object(&patch);
	json_put_nullable(&patch, "title", text);
	json_end_object(&patch);
	rc = buf_ok(&patch, "the title", e) ||
	     session_patch(&cli->agent, cli_arg(cli, 0), patch.p, 0, &row,
			   &cli->arena, e);
	buf_fini(&patch);
	if (rc)
		return -1;
	output_result(&cli->out, &session_row_shape, &row,
		      text ? "set the title of session %s"
			   : "removed the title of session %s",
		      cli_arg(cli, 0));
	return 0;
}

const struct command cmd_session_title = {
	.name = "session title",
	.args = "SESSION [TITLE]",
	.help = "set or remove the title of a session",
	.needs = NEEDS_AGENT_FILE,
	.arguments = ARGUMENTS(
		{"TITLE", "new title; without it the title is removed"}),
	.run = title,
};
