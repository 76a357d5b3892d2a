/* budget add and budget set. */
#include "cli/budget/budget_edit.h"

#include "lib/base/text.h"

static int budget_add(struct cli *cli, struct err *e)
{
	struct budget_row row = {.name = cli_arg(cli, 0),
				 .per = "home",
				 .period = "day",
				 .at_hard = "pause",
				 .soft = OPT_NONE};
	struct budget_row old;
	struct err none;

	if (text_check_name("budget", row.name, e) ||
	    budget_read_options(cli, &row, e))
		return -1;
	if (budget_find(cli, row.name, &old, &none) == 0)
		return err_set(e, ERR_CONFLICT,
			       "budget '%s' already exists; 'skep budget set' "
			       "changes it",
			       row.name);
	return budget_send(cli, &row, "added", e);
}

static int budget_set(struct cli *cli, struct err *e)
{
	struct budget_row row;

	if (cli->args.noptions == 0)
		return err_set(e, ERR_USAGE,
			       "nothing to change; 'skep budget set --help' "
			       "lists the options");
	if (budget_find(cli, cli_arg(cli, 0), &row, e) ||
	    budget_read_options(cli, &row, e))
		return -1;
	return budget_send(cli, &row, "changed", e);
}

const struct command cmd_budget_add = {
	.name = "budget add",
	.args = "NAME",
	.help = "limit what runs may use",
	.about = "A budget has a hard limit and may have a soft one. Each call "
		 "of a model is reserved before it and charged after it, so "
		 "parallel runs exceed the hard limit by at most one call "
		 "each. At the soft limit, a run asks the user ('skep approval "
		 "ls'); one answer is valid for all runs until the period "
		 "ends. At the hard limit, a run is paused until the budget "
		 "is available again, or ended with the reason 'budget'; "
		 "queued runs wait or fail. Days and months are those of "
		 "skepd's time zone.\n"
		 "\n"
		 "The price of a model is in prices.json of the home, or in "
		 "the definition of the agent.\n"
		 "\n"
		 "Examples:\n"
		 "  skep budget add daily --money 20 --soft 15\n"
		 "  skep budget add each --per run --tokens 200000 --then end\n"
		 "  skep budget add mail --channel mail --runs 100 --period "
		 "month",
	.needs = NEEDS_CONTROL_MADE,
	.arguments = ARGUMENTS({"NAME", "name of the new budget: letters, "
					"digits, '-', '_' and '.'"}),
	.options = OPTIONS(BUDGET_OPTIONS),
	.run = budget_add,
};

const struct command cmd_budget_set = {
	.name = "budget set",
	.args = "NAME",
	.help = "change a budget",
	.about = "Runs that wait for the budget continue if it allows it now. "
		 "A change of the unit, the period or what is counted resets "
		 "the counts.\n"
		 "\n"
		 "Example:\n"
		 "  skep budget set daily --money 40",
	.needs = NEEDS_CONTROL_WRITE,
	.arguments = ARGUMENTS(
		{"NAME", "name of a budget; 'skep budget ls' lists them"}),
	.options = OPTIONS(BUDGET_OPTIONS),
	.run = budget_set,
};
