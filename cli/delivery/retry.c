#include "cli/channel/channel_cli.h"

static int delivery_retry(struct cli *cli, struct err *e)
{
	return verb_by_id(cli, ID_DELIVERY, "deliveries", "retry", e);
}

const struct command cmd_delivery_retry = {
	.name = "delivery retry",
	.args = "DELIVERY",
	.help = "send one again, with the same key",
	.about = "It may be pending (then it goes at once), unknown, dead or "
		 "dismissed. A receiver\n"
		 "that keeps keys takes one that it has only once.",
	.needs = NEEDS_SUPERVISOR,
	.run = delivery_retry,
};
