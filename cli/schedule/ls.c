/* schedule ls, show and log. */
#include "cli/list.h"
#include "cli/schedule/schedule_cli.h"
#include "schema/control/schedule.h"

/* What a list shows. */
#define SCHEDULE_ITEM(F, S) \
	F(S, text, name)    \
	F(S, text, state)   \
	F(S, text, rule)    \
	F(S, text, action)  \
	F(S, text, starts)  \
	F(S, time, slot)    \
	F(S, time, last_slot) F(S, i64, fired)

SHAPE_DECLARE(schedule_item, SCHEDULE_ITEM);
SHAPE_DEFINE(schedule_item, SCHEDULE_ITEM);

static int schedule_ls(struct cli *cli, struct err *e)
{
	const char *after = cli_option(cli, "after");
	struct schedule_list_in in = {after ? after : "",
				      cli_number(cli, "limit", 1000)};
	struct cli_list l = {
		.cli = cli,
		.shape = cli->out.json ? &schedule_row_shape
				       : &schedule_item_shape,
		.columns = "name state rule action starts slot last_slot fired",
		.none = "no schedules; 'skep schedule add NAME' creates one",
	};
	struct schedule_row *rows;
	int n = sql_collect(cli->control, Q_SCHEDULE_LIST, &in, (int)in.count,
			    &rows, &cli->arena, e);

	for (int i = 0; i < n; i++) {
		struct schedule_item item = {
			.name = rows[i].name,
			.state = rows[i].state,
			.rule = schedule_rule_text(cli, &rows[i]),
			.action = rows[i].action,
			.starts = rows[i].flow ? rows[i].flow : rows[i].agent,
			.slot = rows[i].slot,
			.last_slot = rows[i].last_slot,
			.fired = rows[i].fired,
		};

		cli_list_add(&l,
			     cli->out.json ? (void *)&rows[i] : (void *)&item);
	}
	if (n >= 0)
		cli_list_end(&l);
	return n < 0 ? -1 : 0;
}

static int schedule_show(struct cli *cli, struct err *e)
{
	struct schedule_row row;

	if (schedule_get(cli->control, cli_arg(cli, 0), &row, &cli->arena, e))
		return -1;
	output_object(&cli->out, &schedule_row_shape, &row);
	return 0;
}

static int schedule_log(struct cli *cli, struct err *e)
{
	struct schedule_row row;
	struct firing_list_in in = {cli_arg(cli, 0),
				    cli_number(cli, "before", INT64_MAX),
				    cli_number(cli, "limit", 50)};
	struct cli_list l = {
		.cli = cli,
		.shape = &firing_row_shape,
		.columns = "slot outcome target state slots reason at",
		.none = "no slot of this schedule has passed yet",
	};

	if (schedule_get(cli->control, in.schedule, &row, &cli->arena, e))
		return -1;
	return cli_list_query(&l, cli->control, Q_FIRING_LIST, &in, e);
}

const struct command cmd_schedule_ls = {
	.name = "schedule ls",
	.help = "list schedules with their next slots",
	.needs = NEEDS_CONTROL_READ,
	.options = OPTIONS(OPT_LIMIT("list at most N schedules (default 1000)"),
			   OPTION(TEXT, 0, "after", "SCHEDULE",
				  "list schedules after this name"),
			   OPT_LIST),
	.run = schedule_ls,
};

const struct command cmd_schedule_show = {
	.name = "schedule show",
	.args = "SCHEDULE",
	.help = "show a schedule",
	.needs = NEEDS_CONTROL_READ,
	.arguments = ARGUMENTS(SCHEDULE_NAME),
	.run = schedule_show,
};

const struct command cmd_schedule_log = {
	.name = "schedule log",
	.args = "SCHEDULE",
	.help = "show what became of the slots of a schedule, newest first",
	.about = "An outcome is fired, waiting (for the end of the previous "
		 "slot), missed, skipped or failed; the reason explains it. "
		 "Several missed slots are one row. The log keeps the newest "
		 "1000 slots.",
	.needs = NEEDS_CONTROL_READ,
	.arguments = ARGUMENTS(SCHEDULE_NAME),
	.options = OPTIONS(OPT_LIMIT("show at most N slots (default 50)"),
			   OPTION(INT, 0, "before", "TIME",
				  "show slots before this time, in "
				  "milliseconds since 1970"),
			   OPT_LIST),
	.run = schedule_log,
};
