#include "cli/channel/channel_cli.h"

static int msg_join(struct cli *cli, struct err *e)
{
	return room_member(cli, "PUT", e);
}

const struct command cmd_msg_join = {
	.name = "msg join",
	.args = "ROOM AGENT [SESSION]",
	.help = "make a session a member of a room",
	.needs = NEEDS_SUPERVISOR,
	.run = msg_join,
};
