/* delivery retry, discard and resend. */
#include "cli/channel/channel_cli.h"

#include <string.h>

/* The verb is the second word of the command's name. */
static int act_on_delivery(struct cli *cli, struct err *e)
{
	const char *verb = strchr(cli->args.command->name, ' ') + 1;
	const char *path = verb_path(cli, ID_DELIVERY, "deliveries", verb, e);
	cJSON *json = path ? remote_call(cli, "POST", path, "{}", e) : NULL;

	if (!json)
		return -1;
	if (!strcmp(verb, "resend"))
		remote_result(cli, json, "queued delivery %s, a copy of %s",
			      json_text(json, "id", "?"), cli_arg(cli, 0));
	else
		remote_result(cli, json, "%s delivery %s",
			      *verb == 'r' ? "queued" : "discarded",
			      cli_arg(cli, 0));
	cJSON_Delete(json);
	return 0;
}

const struct command cmd_delivery_retry = {
	.name = "delivery retry",
	.args = "DELIVERY...",
	.each = true,
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
	.args = "DELIVERY...",
	.each = true,
	.help = "give up on an undelivered message",
	.about = "The message is not sent, and the messages queued "
		 "behind it proceed. 'skep delivery retry' undoes "
		 "this.",
	.needs = NEEDS_SUPERVISOR,
	.run = act_on_delivery,
};

const struct command cmd_delivery_resend = {
	.name = "delivery resend",
	.args = "DELIVERY...",
	.each = true,
	.help = "send a copy of a message with a new idempotency key",
	.about = "A receiver that has the first message accepts the "
		 "copy too.",
	.needs = NEEDS_SUPERVISOR,
	.run = act_on_delivery,
};
