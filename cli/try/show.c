#include "cli/try/try_view.h"

static int try_show(struct cli *cli, struct err *e)
{
	struct experiment_row row;

	if (try_get(cli, cli_arg(cli, 0), &row, e))
		return -1;
	if (cli_flag(cli, "follow") &&
	    try_wait(cli, row.id, "preparing|running|picking|dropping", true,
		     &row, e))
		return -1;
	if (try_print(cli, &row, e))
		return -1;
	/* to show failures is no failure */
	return try_print_failures(cli, &row, e) && e->code != ERR_FAILED ? -1
									 : 0;
}

const struct command cmd_try_show = {
	.name = "try show",
	.args = "[EXPERIMENT]",
	.help = "show an experiment and compare its trials",
	.about = "Without EXPERIMENT, it shows the newest one. 'skep logs RUN' "
		 "prints the output of a run. With --json, the experiment "
		 "comes first, followed by its trials, one object per line; "
		 "check_run is the run of the check command.",
	.needs = NEEDS_CONTROL_READ,
	.arguments = ARGUMENTS(TRY_EXPERIMENT),
	.options = OPTIONS(
		OPT_FOLLOW("show the trials until all of them are done")),
	.run = try_show,
};
