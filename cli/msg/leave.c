#include "cli/channel/channel_cli.h"

static int msg_leave(struct cli *cli, struct err *e)
{
	return room_member(cli, "DELETE", e);
}

const struct command cmd_msg_leave = {
	.name = "msg leave",
	.args = "ROOM AGENT [SESSION]",
	.help = "let a session leave a room",
	.needs = NEEDS_SUPERVISOR,
	.run = msg_leave,
};
