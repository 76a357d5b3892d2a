#include "cli/run/run_view.h"

static int logs(struct cli *cli, struct err *e)
{
	struct run_view v = {
		.id = cli_arg(cli, 0),
		.after = cli_option(cli, "after"),
		.follow = cli_flag(cli, "follow"),
	};

	return run_view_print(cli, &v, e);
}

const struct command cmd_logs = {
	.name = "logs",
	.args = "RUN",
	.help = "print the output of a run",
	.about = "--follow continues across a restart of the "
		 "supervisor.",
	.needs = NEEDS_CONTROL_READ | NEEDS_NO_SETTING,
	.options = OPTIONS(
		OPT_FOLLOW("continue until the run ends"),
		OPTION(TEXT, 0, "after", "CURSOR",
		       "start after this cursor, as printed with --json")),
	.run = logs,
};
