#include "cli/channel_cli.h"

static int inbound_retry(struct cli *cli, struct err *e)
{
	return verb_by_id(cli, ID_INBOUND, "inbound", "retry", e);
}

const struct command cmd_inbound_retry = {
	.name = "inbound retry",
	.args = "MESSAGE",
	.help = "let a dead message become a run",
	.needs = NEEDS_SUPERVISOR,
	.run = inbound_retry,
};
