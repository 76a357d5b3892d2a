#include "cli/channel/channel_cli.h"

static int delivery_dismiss(struct cli *cli, struct err *e)
{
	return verb_by_id(cli, ID_DELIVERY, "deliveries", "dismiss", e);
}

const struct command cmd_delivery_dismiss = {
	.name = "delivery dismiss",
	.args = "DELIVERY",
	.help = "give one up that is not delivered",
	.about = "It is not sent any more, and whoever waits behind it goes. "
		 "retry brings it back.",
	.needs = NEEDS_SUPERVISOR,
	.run = delivery_dismiss,
};
