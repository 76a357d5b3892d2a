#include "cli/list.h"
#include "cli/schedule/schedule_cli.h"
#include "lib/base/clock.h"
#include "lib/time/time_text.h"
#include "schema/control/schedule.h"

#define NEXT_ITEM(F, S) F(S, text, local) F(S, time, slot) F(S, time, due_at)

SHAPE_DECLARE(next_item, NEXT_ITEM);
SHAPE_DEFINE(next_item, NEXT_ITEM);

/* The schedule, or one that the options describe. */
static int read_rule(struct cli *cli, struct schedule_row *row, struct err *e)
{
	const char *zone = cli_option(cli, "zone");

	if (cli_arg(cli, 0) && cli_option(cli, "cron"))
		return err_set(e, ERR_USAGE,
			       "give a schedule or --cron, not both");
	if (cli_arg(cli, 0))
		return schedule_get(cli->control, cli_arg(cli, 0), row,
				    &cli->arena, e);
	if (!cli_option(cli, "cron"))
		return err_set(e, ERR_USAGE,
			       "a schedule is missing; or give --cron");
	*row = (struct schedule_row){.name = "-",
				     .cron = cli_option(cli, "cron"),
				     .every_ms = OPT_NONE,
				     .at = OPT_NONE,
				     .zone = zone ? zone : "UTC",
				     .starts_at = OPT_NONE,
				     .ends_at = OPT_NONE,
				     .window_ms = OPT_NONE,
				     .anchor_at = 0};
	return 0;
}

static int list_slots(struct cli *cli, const struct schedule_rule *rule,
		      struct err *e)
{
	struct cli_list l = {
		.cli = cli,
		.shape = &next_item_shape,
		.columns = rule->row->jitter_ms ? "local slot due_at"
						: "local slot",
		.none = "the schedule has no further slot",
	};
	int64_t count = cli_number(cli, "count", 10), slot = clock_now();
	char local[TIME_TEXT];

	if (cli_option(cli, "from") &&
	    time_parse("--from", cli_option(cli, "from"), rule->zone, &slot, e))
		return -1;
	for (int64_t i = 0; i < count; i++) {
		struct next_item item;

		slot = schedule_rule_next(rule, slot);
		if (slot == OPT_NONE)
			break;
		item = (struct next_item){
			.local = time_text(rule->zone, slot, local),
			.slot = slot,
			.due_at = schedule_due(rule->row, slot),
		};
		cli_list_add(&l, &item);
	}
	cli_list_end(&l);
	return 0;
}

static int schedule_next(struct cli *cli, struct err *e)
{
	struct schedule_rule rule;
	struct schedule_row row;
	int rc;

	if (read_rule(cli, &row, e) || schedule_rule_open(&rule, &row, e))
		return -1;
	rc = list_slots(cli, &rule, e);
	schedule_rule_close(&rule);
	return rc;
}

const struct command cmd_schedule_next = {
	.name = "schedule next",
	.args = "[SCHEDULE]",
	.help = "list the next slots of a schedule or of a cron expression",
	.about = "Examples:\n"
		 "  skep schedule next report --count 10\n"
		 "  skep schedule next --cron '30 2 * * *' --zone "
		 "Europe/Berlin --from 2026-03-28",
	.needs = NEEDS_CONTROL_READ,
	.arguments = ARGUMENTS(SCHEDULE_NAME),
	.options = OPTIONS(
		OPTION(COUNT, 'n', "count", "N", "list N slots (default 10)"),
		OPTION(TEXT, 0, "from", "WHEN",
		       "list the slots after this time (default: now)"),
		OPTION(TEXT, 0, "cron", "FIELDS",
		       "use this expression instead of a schedule"),
		OPTION(TEXT, 'z', "zone", "ZONE",
		       "time zone of --cron (default UTC)"),
		OPT_LIST),
	.run = schedule_next,
};
