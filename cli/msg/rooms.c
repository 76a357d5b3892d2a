#include "cli/cli.h"

static int msg_rooms(struct cli *cli, struct err *e)
{
	struct room_list_in in = {.room = cli_arg(cli, 0)};
	struct sql_rows it = sql_rows(cli->control, Q_ROOM_LIST, &in);
	struct table *t = table_new(&cli->out, &room_row_shape,
				    "room agent session unread joined_at");
	struct room_row row;

	while (sql_next(&it, &row))
		table_add(t, &row);
	table_end(t);
	return sql_end(&it, e);
}

const struct command cmd_msg_rooms = {
	.name = "msg rooms",
	.args = "[ROOM]",
	.help = "list members of rooms, and what each has not read",
	.needs = NEEDS_CONTROL_READ,
	.run = msg_rooms,
};
