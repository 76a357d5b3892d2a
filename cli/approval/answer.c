/* approval allow and deny. */
#include "cli/remote.h"

static int answer(struct cli *cli, bool allow, struct err *e)
{
	const char *path = remote_path(cli, ID_APPROVAL, cli_arg(cli, 0), NULL,
				       e);
	struct buf body = BUF_MAX(1 << 16);
	cJSON *done = NULL;

	json_begin_object(&body);
	json_put_bool(&body, "allow", allow);
	json_put_text(&body, "note", cli_option(cli, "note"));
	json_put_text(&body, "choice", cli_option(cli, "choice"));
	json_end_object(&body);
	if (path && buf_ok(&body, "the note", e) == 0)
		done = remote_call(cli, "POST", path, body.p, e);
	buf_fini(&body);
	if (!done)
		return -1;
	remote_result(cli, done, "%s approval %s", allow ? "allowed" : "denied",
		      cli_arg(cli, 0));
	cJSON_Delete(done);
	return 0;
}

static int approval_allow(struct cli *cli, struct err *e)
{
	return answer(cli, true, e);
}

static int approval_deny(struct cli *cli, struct err *e)
{
	return answer(cli, false, e);
}

const struct command cmd_approval_allow = {
	.name = "approval allow",
	.args = "APPROVAL...",
	.each = true,
	.help = "allow the action that a run asks for",
	.about = "An approval can be answered only once.",
	.needs = NEEDS_SUPERVISOR | NEEDS_NO_SETTING,
	.options = OPTIONS(
		OPTION(TEXT, 'm', "note", "TEXT",
		       "note for the run, stored with the answer"),
		OPTION(TEXT, 'c', "choice", "ID",
		       "select this option of the question; 'skep approval "
		       "show' lists the options")),
	.run = approval_allow,
};

const struct command cmd_approval_deny = {
	.name = "approval deny",
	.args = "APPROVAL...",
	.each = true,
	.help = "deny the action that a run asks for",
	.about = "An approval can be answered only once.",
	.needs = NEEDS_SUPERVISOR | NEEDS_NO_SETTING,
	.options = OPTIONS(
		OPTION(TEXT, 'm', "note", "TEXT",
		       "note for the run, stored with the answer"),
		OPTION(TEXT, 'c', "choice", "ID",
		       "select this option of the question; 'skep approval "
		       "show' lists the options")),
	.run = approval_deny,
};
