#include "cli/budget/budget_edit.h"

#include "lib/base/text.h"
#include "schema/control/control.h"

static int delete_row(struct cli *cli, void *arg, struct err *e)
{
	struct budget_delete_in key = {arg};

	return sql_exec(cli->control, Q_BUDGET_DELETE, &key, e) < 0 ||
			       control_audit(cli->control, NULL, "budget.rm",
					     arg, NULL, e)
		       ? -1
		       : 0;
}

static int budget_rm(struct cli *cli, struct err *e)
{
	const char *name = cli_arg(cli, 0);
	struct cli_act act = {
		.method = "DELETE",
		.path = arena_printf(&cli->arena, "/v1/budgets/%s", name),
		.direct = delete_row,
		.arg = arena_text(&cli->arena, name)};
	struct budget_row row;

	if (text_check_name("budget", name, e) ||
	    budget_find(cli, name, &row, e) || cli_act(cli, &act, e))
		return -1;
	output_result(&cli->out, &budget_row_shape, &row, "deleted budget %s",
		      name);
	return 0;
}

const struct command cmd_budget_rm = {
	.name = "budget rm",
	.args = "NAME",
	.help = "delete a budget and its counts",
	.about = "Runs that wait for the budget continue.",
	.needs = NEEDS_CONTROL_WRITE,
	.arguments = ARGUMENTS(
		{"NAME", "name of a budget; 'skep budget ls' lists them"}),
	.run = budget_rm,
};
