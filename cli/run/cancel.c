#include "cli/remote.h"
#include "cli/run/run_view.h"

static int request_cancel(struct cli *cli, const char *id, const char *body,
			  struct err *e)
{
	const char *path = remote_path(cli, ID_RUN, id, "cancel", e);
	cJSON *answer = path ? remote_call(cli, "POST", path, body, e) : NULL;

	if (!answer)
		return -1;
	if (!cli_flag(cli, "wait"))
		remote_done(cli, answer);
	cJSON_Delete(answer);
	return 0;
}

/* The state in which the run ended: it may have finished before the request. */
static int wait_for_end(struct cli *cli, const char *id, struct err *e)
{
	struct run_view wait = {.id = id, .follow = true, .quiet = true};
	struct run_row row;

	if (run_view_print(cli, &wait, e) || run_view_get(cli, id, &row, e))
		return -1;
	if (cli->out.json)
		output_object(&cli->out, &run_row_shape, &row);
	else
		output_note(&cli->out, "%s: %s", id, row.state);
	return 0;
}

/* All are requested before the first is waited for. A run that cannot be
 * cancelled does not keep the others from it; the first error counts. */
static int cancel(struct cli *cli, struct err *e)
{
	const char *why = cli_option(cli, "reason"), *id;
	const char *body = why ? remote_text(cli, "reason", why) : NULL;
	struct err later;
	int rc = 0;

	for (int i = 0; (id = cli_arg(cli, i)); i++)
		if (!remote_path(cli, ID_RUN, id, NULL, e))
			return -1;
	for (int i = 0; (id = cli_arg(cli, i)); i++)
		if (request_cancel(cli, id, body, rc ? &later : e))
			rc = -1;
	for (int i = 0; cli_flag(cli, "wait") && (id = cli_arg(cli, i)); i++)
		if (wait_for_end(cli, id, rc ? &later : e))
			rc = -1;
	return rc;
}

const struct command cmd_cancel = {
	.name = "cancel",
	.args = "RUN...",
	.help = "cancel runs and their child runs",
	.about = "The transcript and the files written so far are kept. "
		 "Cancelling a run that has ended has no effect.",
	.needs = NEEDS_SUPERVISOR | NEEDS_NO_SETTING,
	.options = OPTIONS(
		OPTION(TEXT, 'r', "reason", "TEXT", "record this reason"),
		FLAG('w', "wait",
		     "wait until no process of the runs is left, and print "
		     "the state in which each ended")),
	.run = cancel,
};
