#include "cli/remote.h"
#include "cli/try/try_view.h"

#include <string.h>

/* drop, resume and extend. */

static int show_after(struct cli *cli, const char *states, struct err *e)
{
	struct experiment_row row;

	if (try_wait(cli, cli_arg(cli, 0), states, true, &row, e))
		return -1;
	if (!strcmp(row.state, "failed"))
		return try_failed(&row, e);
	return try_print(cli, &row, e) || try_print_failures(cli, &row, e) ? -1
									   : 0;
}

static int try_drop(struct cli *cli, struct err *e)
{
	const char *id = cli_arg(cli, 0);
	struct experiment_row row;

	if (try_get(cli, id, &row, e) ||
	    cli_confirm(cli, arena_printf(&cli->arena, "the forks of %s", id),
			e) ||
	    try_post(cli, id, "drop", NULL, e) ||
	    try_wait(cli, id, "dropping", false, &row, e))
		return -1;
	if (cli->out.json)
		output_object(&cli->out, &experiment_row_shape, &row);
	output_note(&cli->out, "%s: %s", id, row.state);
	return 0;
}

const struct command cmd_try_drop = {
	.name = "try drop",
	.args = "EXPERIMENT",
	.help = "cancel the runs of an experiment and delete its forks",
	.about = "The results of the trials are kept: 'skep try show' and "
		 "'skep try report' still print them.",
	.needs = NEEDS_SUPERVISOR,
	.arguments = ARGUMENTS(TRY_EXPERIMENT),
	.options = OPTIONS(OPT_YES("do not ask for confirmation")),
	.run = try_drop,
};

static int try_resume(struct cli *cli, struct err *e)
{
	if (try_post(cli, cli_arg(cli, 0), "resume", NULL, e))
		return -1;
	return show_after(cli, "preparing|running", e);
}

const struct command cmd_try_resume = {
	.name = "try resume",
	.args = "EXPERIMENT",
	.help = "start the trials that did not succeed once more",
	.about = "Each starts in a new fork of the same snapshot, with the "
		 "same seed. An experiment that was interrupted by the end of "
		 "skepd continues when skepd starts again.",
	.needs = NEEDS_SUPERVISOR,
	.arguments = ARGUMENTS(TRY_EXPERIMENT),
	.run = try_resume,
};

static int try_extend(struct cli *cli, struct err *e)
{
	struct buf b = BUF_MAX(256);
	int rc;

	json_begin_object(&b);
	json_put_int(&b, "runs", cli_number(cli, "runs", 1));
	json_end_object(&b);
	rc = try_post(cli, cli_arg(cli, 0), "extend", b.p, e);
	buf_fini(&b);
	return rc ? -1 : show_after(cli, "preparing|running", e);
}

const struct command cmd_try_extend = {
	.name = "try extend",
	.args = "EXPERIMENT",
	.help = "start more runs of each variant",
	.about = "They start from the same snapshot; their seeds continue.",
	.needs = NEEDS_SUPERVISOR,
	.arguments = ARGUMENTS(TRY_EXPERIMENT),
	.options = OPTIONS(OPTION(COUNT, 'n', "runs", "N",
				  "number of runs of each variant (default "
				  "1)")),
	.run = try_extend,
};
