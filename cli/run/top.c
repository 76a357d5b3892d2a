#include "cli/interactive.h"
#include "cli/list.h"
#include "cli/run/ps_view.h"

static void add_to_list(void *arg, struct ps_row *row)
{
	cli_list_add(arg, row);
}

static int print_once(struct cli *cli, struct err *e)
{
	struct ps_filter active = {.queued = 0};
	struct cli_list l = {.cli = cli,
			     .shape = &ps_row_shape,
			     .columns = PS_COLUMNS,
			     .none = "no active runs; 'skep ps --all' lists "
				     "every run"};

	if (ps_active(cli, &active, add_to_list, &l, e))
		return -1;
	cli_list_end(&l);
	return 0;
}

static int top(struct cli *cli, struct err *e)
{
	interactive_exec(cli);
	return interactive && cli->out.width && !cli->out.json
		       ? interactive->top(cli, e)
		       : print_once(cli, e);
}

const struct command cmd_top = {
	.name = "top",
	.help = "show active and queued runs and act on them",
	.about = "The table fits the terminal and is refreshed until you quit "
		 "with q. The arrow keys select a run. c cancels it, p pauses "
		 "it, u resumes it, t retries it, enter shows its log, i its "
		 "details. < and > select the column to sort by, r reverses "
		 "the order, / filters, and h lists the keys.\n"
		 "\n"
		 "If standard output is not a terminal, the active runs are "
		 "printed once.",
	.needs = NEEDS_SUPERVISOR | NEEDS_NO_SETTING,
	.options = OPTIONS(OPTION(MILLIS, 'd', "interval", "TIME",
				  "time between two refreshes (default 1s)")),
	.run = top,
};
