#include "cli/list.h"

#include "lib/base/clock.h"

static int delivery_stats(struct cli *cli, struct err *e)
{
	struct delivery_stats_in in = {clock_now()};
	struct cli_list l = {
		.cli = cli,
		.shape = &delivery_stats_row_shape,
		.columns = "channel state n oldest_at due_at note",
		.none = "no deliveries",
	};

	return cli_list_query(&l, cli->control, Q_DELIVERY_STATS, &in, e);
}

const struct command cmd_delivery_stats = {
	.name = "delivery stats",
	.help = "count deliveries by channel and state",
	.about = "For pending deliveries, the table shows when the "
		 "next one is due, and the reason if the channel is "
		 "paused, disabled or removed.",
	.needs = NEEDS_CONTROL_READ,
	.options = OPTIONS(OPT_LIST),
	.run = delivery_stats,
};
