#include "cli/cli.h"

#include "lib/base/clock.h"

static int delivery_stats(struct cli *cli, struct err *e)
{
	struct delivery_stats_in in = {clock_now()};
	struct sql_rows it = sql_rows(cli->control, Q_DELIVERY_STATS, &in);
	struct table *t = table_new(&cli->out, &delivery_stats_row_shape,
				    "channel state n oldest_at due_at note");
	struct delivery_stats_row row;

	while (sql_next(&it, &row))
		table_add(t, &row);
	table_end(t);
	return sql_end(&it, e);
}

const struct command cmd_delivery_stats = {
	.name = "delivery stats",
	.help = "count messages by channel and state",
	.about = "Of those that wait: when the next may go, and why none does "
		 "if its channel is\n"
		 "paused, disabled or gone.",
	.needs = NEEDS_CONTROL_READ,
	.run = delivery_stats,
};
