#include "cli/channel/channel_cli.h"
#include "lib/base/text.h"

/* One that is dead again is a failure: it is still there, with its reason. */
static int inbound_retry(struct cli *cli, struct err *e)
{
	const char *path = verb_path(cli, ID_INBOUND, "inbound", "retry", e);
	cJSON *json = path ? remote_call(cli, "POST", path, "{}", e) : NULL;
	int rc = 0;

	if (!json)
		return -1;
	if (json_bool(json, "changed", false))
		remote_done(cli, json);
	else
		rc = err_set(e, ERR_FAILED, "it is dead again: %s",
			     json_text(json, "note", "no reason"));
	cJSON_Delete(json);
	return rc;
}

const struct command cmd_inbound_retry = {
	.name = "inbound retry",
	.args = "MESSAGE",
	.help = "let a dead message become a run",
	.about = "Who answers is looked up again: a binding that was made "
		 "meanwhile counts. What is dead\nonce more stays in the list, "
		 "and the command fails.",
	.needs = NEEDS_SUPERVISOR,
	.run = inbound_retry,
};
