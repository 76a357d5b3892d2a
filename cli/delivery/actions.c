/* delivery retry, discard and resend. */
#include "cli/channel/channel_cli.h"

#include <string.h>

/* The verb is the second word of the command's name. */
static int act_on_delivery(struct cli *cli, struct err *e)
{
	return verb_by_id(cli, ID_DELIVERY, "deliveries",
			  strchr(cli->args.command->name, ' ') + 1, e);
}

const struct command cmd_delivery_retry = {
	.name = "delivery retry",
	.args = "DELIVERY",
	.help = "send a message again with the same idempotency key",
	.about = "The delivery must be pending, unknown, dead or "
		 "discarded. A pending one is sent at once. A "
		 "receiver that tracks keys accepts the message only "
		 "once.",
	.needs = NEEDS_SUPERVISOR,
	.run = act_on_delivery,
};

const struct command cmd_delivery_discard = {
	.name = "delivery discard",
	.args = "DELIVERY",
	.help = "give up on an undelivered message",
	.about = "The message is not sent, and the messages queued "
		 "behind it proceed. 'skep delivery retry' undoes "
		 "this.",
	.needs = NEEDS_SUPERVISOR,
	.run = act_on_delivery,
};

const struct command cmd_delivery_resend = {
	.name = "delivery resend",
	.args = "DELIVERY",
	.help = "send a copy of a message with a new idempotency key",
	.about = "A receiver that has the first message accepts the "
		 "copy too.",
	.needs = NEEDS_SUPERVISOR,
	.run = act_on_delivery,
};
