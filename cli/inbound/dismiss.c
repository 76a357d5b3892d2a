#include "cli/channel/channel_cli.h"

static int inbound_dismiss(struct cli *cli, struct err *e)
{
	return verb_by_id(cli, ID_INBOUND, "inbound", "dismiss", e);
}

const struct command cmd_inbound_dismiss = {
	.name = "inbound dismiss",
	.args = "MESSAGE",
	.help = "give a dead message up",
	.needs = NEEDS_SUPERVISOR,
	.run = inbound_dismiss,
};
