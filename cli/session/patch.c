#include "cli/cli.h"

#include "schema/agent/transcript/session.h"

#include <inttypes.h>
#include <string.h>

static int run_session_patch(struct cli *cli, struct err *e)
{
	const char *given = cli_arg(cli, 1);
	struct buf text = BUF_MAX(SESSION_META_MAX);
	struct session_row row;
	int rc = 0;

	if (!strcmp(given, "-"))
		rc = cli_read("-", &text, e);
	else
		buf_adds(&text, given);
	if (!rc && memchr(text.p, 0, text.n))
		rc = err_set(e, ERR_INVALID, "the patch contains a NUL byte");
	if (!rc)
		rc = buf_ok(&text, "the patch", e) ||
		     session_patch(&cli->agent, cli_arg(cli, 0), text.p,
				   cli_number(cli, "if-rev", 0), &row,
				   &cli->arena, e);
	buf_fini(&text);
	if (rc)
		return -1;
	output_result(&cli->out, &session_row_shape, &row,
		      "changed session %s: revision %" PRId64, cli_arg(cli, 0),
		      row.rev);
	return 0;
}

const struct command cmd_session_patch = {
	.name = "session patch",
	.args = "SESSION PATCH",
	.help = "change members of a session with a JSON merge patch",
	.about = "The members are title, model, status, kind, source, "
		 "parent, workspace, ephemeral and meta; null removes a "
		 "value. workspace is the namespace in which the runs of the "
		 "session work, unless they name another one. "
		 "Concurrent patches of different members are both "
		 "applied.",
	.needs = NEEDS_AGENT_FILE,
	.arguments = ARGUMENTS(
		{"PATCH", "a JSON object such as {\"title\":\"notes\"}; '-' "
			  "reads standard input"}),
	.options = OPTIONS(OPTION(INT, 0, "if-rev", "N",
				  "fail unless the session has revision N")),
	.run = run_session_patch,
};
