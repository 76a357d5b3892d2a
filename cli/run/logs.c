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
	.help = "print what a run wrote, and with --follow what comes",
	.about = "--follow ends with the run, and does not mind a restart of "
		 "the\n"
		 "supervisor.",
	.needs = NEEDS_CONTROL_READ,
	.options =
		(const struct option_spec[]){
			{"follow", NULL, "until the run is over", OPTION_FLAG},
			{"after", "CURSOR", "begin behind this place",
			 OPTION_TEXT},
			{NULL, NULL, NULL, OPTION_FLAG}},
	.run = logs,
};
