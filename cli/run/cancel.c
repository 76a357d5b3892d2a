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
	.help = "stop a run; it keeps what it has done so far",
	.about = "Runs that it started are cancelled with it. A run that is "
		 "over stays\n"
		 "as it is; cancelling twice is harmless.",
	.needs = NEEDS_SUPERVISOR,
	.options =
		(const struct option_spec[]){
			{"reason", "TEXT", "kept with the run", OPTION_TEXT},
			{"wait", NULL, "return when no process of it is left",
			 OPTION_FLAG},
			{NULL, NULL, NULL, OPTION_FLAG}},
	.run = cancel,
};
