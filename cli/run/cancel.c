#include "cli/remote.h"
#include "cli/run/run_view.h"

static int cancel(struct cli *cli, struct err *e)
{
	const char *why = cli_option(cli, "reason");
	const char *path = remote_path(cli, ID_RUN, cli_arg(cli, 0), "cancel",
				       e);
	struct run_view wait = {
		.id = cli_arg(cli, 0), .follow = true, .quiet = true};

	if (remote_post(cli, path, why ? remote_text(cli, "reason", why) : NULL,
			e))
		return -1;
	return cli_flag(cli, "wait") ? run_view_print(cli, &wait, e) : 0;
}

const struct command cmd_cancel = {
	.name = "cancel",
	.args = "RUN",
	.help = "cancel a run and its child runs",
	.about = "The transcript and the files written so far are "
		 "kept. Cancelling a run that has ended has no effect.",
	.needs = NEEDS_SUPERVISOR | NEEDS_NO_SETTING,
	.options = OPTIONS(
		OPTION(TEXT, 'r', "reason", "TEXT", "record this reason"),
		FLAG('w', "wait", "wait until no process of the run is left")),
	.run = cancel,
};
