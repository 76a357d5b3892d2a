#include "cli/list.h"

static int room_ls(struct cli *cli, struct err *e)
{
	struct room_list_in in = {.room = cli_arg(cli, 0)};
	struct cli_list l = {
		.cli = cli,
		.shape = &room_row_shape,
		.columns = "room agent session unread joined_at",
		.none = in.room ? "the room has no members"
				: "no rooms; 'skep room join ROOM ADDRESS' "
				  "creates one",
	};

	return cli_list_query(&l, cli->control, Q_ROOM_LIST, &in, e);
}

const struct command cmd_room_ls = {
	.name = "room ls",
	.args = "[ROOM]",
	.help = "list rooms, their members and the number of unread "
		"messages",
	.needs = NEEDS_CONTROL_READ,
	.arguments = ARGUMENTS({"ROOM", "list only the members of this room"}),
	.options = OPTIONS(OPT_LIST),
	.run = room_ls,
};
