/* inbound retry and discard. */
#include "cli/channel/channel_cli.h"
#include "lib/base/text.h"

/* A message that becomes a dead letter again is a failure. */
static int inbound_retry(struct cli *cli, struct err *e)
{
	const char *path = verb_path(cli, ID_INBOUND, "inbound", "retry", e);
	cJSON *json = path ? remote_call(cli, "POST", path, "{}", e) : NULL;
	int rc = 0;

	if (!json)
		return -1;
	if (json_bool(json, "changed", false))
		remote_result(cli, json, "inbound message %s: %s",
			      cli_arg(cli, 0), json_text(json, "note", "-"));
	else
		rc = err_set(e, ERR_FAILED,
			     "inbound message %s is still a dead letter: %s",
			     cli_arg(cli, 0),
			     json_text(json, "note", "no reason"));
	cJSON_Delete(json);
	return rc;
}

static int inbound_discard(struct cli *cli, struct err *e)
{
	const char *path = verb_path(cli, ID_INBOUND, "inbound", "discard", e);
	cJSON *json = path ? remote_call(cli, "POST", path, "{}", e) : NULL;

	if (!json)
		return -1;
	remote_result(cli, json, "discarded inbound message %s",
		      cli_arg(cli, 0));
	cJSON_Delete(json);
	return 0;
}

const struct command cmd_inbound_retry = {
	.name = "inbound retry",
	.args = "MESSAGE...",
	.each = true,
	.help = "start a run for a dead-lettered message",
	.about = "The agent is chosen again, so bindings added in the meantime "
		 "apply. If the message still cannot be routed, it stays a "
		 "dead letter and the command fails.",
	.needs = NEEDS_SUPERVISOR,
	.run = inbound_retry,
};

const struct command cmd_inbound_discard = {
	.name = "inbound discard",
	.args = "MESSAGE...",
	.each = true,
	.help = "give up on a dead-lettered message",
	.needs = NEEDS_SUPERVISOR,
	.run = inbound_discard,
};
