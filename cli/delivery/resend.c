#include "cli/channel/channel_cli.h"

static int delivery_resend(struct cli *cli, struct err *e)
{
	return verb_by_id(cli, ID_DELIVERY, "deliveries", "resend", e);
}

const struct command cmd_delivery_resend = {
	.name = "delivery resend",
	.args = "DELIVERY",
	.help = "send the same message once more, as a new one",
	.about = "With a key of its own: a receiver that has the first takes "
		 "this one too.",
	.needs = NEEDS_SUPERVISOR,
	.run = delivery_resend,
};
