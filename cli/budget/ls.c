#include "cli/list.h"
#include "lib/base/clock.h"
#include "schema/control/budget.h"

#define BUDGET_VIEW(F, S)     \
	F(S, text, name)      \
	F(S, text, subject)   \
	F(S, text, per)       \
	F(S, text, period)    \
	F(S, text, used)      \
	F(S, text, reserved)  \
	F(S, text, remaining) \
	F(S, text, soft)      \
	F(S, text, hard)      \
	F(S, text, then)      \
	F(S, time, resets_at)

SHAPE_DECLARE(budget_view, BUDGET_VIEW);
SHAPE_DEFINE(budget_view, BUDGET_VIEW);

static const char *amount(struct cli *cli, const char *unit, int64_t n)
{
	char text[64];

	budget_text(unit, n, text, sizeof text);
	return n == OPT_NONE ? "-" : arena_text(&cli->arena, text);
}

static void add_line(void *arg, const struct budget_item *item)
{
	struct cli_list *l = arg;
	struct cli *cli = l->cli;
	struct budget_view v = {
		.name = item->name,
		.subject = item->subject,
		.per = item->per,
		.period = item->period,
		.used = amount(cli, item->unit, item->used),
		.reserved = amount(cli, item->unit, item->reserved),
		.remaining = amount(cli, item->unit, item->remaining),
		.soft = amount(cli, item->unit, item->soft),
		.hard = amount(cli, item->unit, item->hard),
		.then = item->at_hard,
		.resets_at = item->resets_at,
	};
	struct budget_item row = *item;

	if (cli->out.json)
		cli_list_add(l, &row);
	else
		cli_list_add(l, &v);
}

static int budget_ls(struct cli *cli, struct err *e)
{
	struct cli_list l = {
		.cli = cli,
		.shape = cli->out.json ? &budget_item_shape
				       : &budget_view_shape,
		.columns = "name subject used reserved remaining soft hard "
			   "period resets_at",
		.none = "no budgets; 'skep budget add NAME' adds one",
	};
	int rc = budget_items(cli->control, cli_arg(cli, 0), clock_now(),
			      add_line, &l, e);

	cli_list_end(&l);
	return rc;
}

const struct command cmd_budget_ls = {
	.name = "budget ls",
	.args = "[NAME]",
	.help = "list budgets: what is used, reserved and left, and when it "
		"resets",
	.about = "A budget has one line for each home, agent, channel, session "
		 "or run that it counts; those that used most come first. "
		 "With --json, money is in millionths of a dollar and time in "
		 "milliseconds.",
	.needs = NEEDS_CONTROL_READ | NEEDS_NO_SETTING,
	.arguments = ARGUMENTS({"NAME", "list only this budget"}),
	.options = OPTIONS(OPT_LIST),
	.run = budget_ls,
};
