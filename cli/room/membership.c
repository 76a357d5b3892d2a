/* room join and leave. */
#include "cli/channel/channel_cli.h"

/* PUTs or DELETEs the session at ADDRESS as a member of ROOM. */
static int change_membership(struct cli *cli, bool join, struct err *e)
{
	const char *room = cli_arg(cli, 0), *session, *path;
	struct address a;
	cJSON *done;

	if (address_arg(cli, 1, &a, e))
		return -1;
	session = a.session ? a.session : "main";
	path = arena_printf(&cli->arena, "/v1/rooms/%s/%s/%s",
			    url_text(cli, room), a.agent,
			    url_text(cli, session));
	done = remote_call(cli, join ? "PUT" : "DELETE", path, "{}", e);
	if (!done)
		return -1;
	remote_result(cli, done,
		      json_bool(done, "changed", true)
			      ? join ? "added %s/%s to room %s"
				     : "removed %s/%s from room %s"
		      : join ? "%s/%s is already in room %s"
			     : "%s/%s is not in room %s",
		      a.agent, session, room);
	cJSON_Delete(done);
	return 0;
}

static int room_join(struct cli *cli, struct err *e)
{
	return change_membership(cli, true, e);
}

static int room_leave(struct cli *cli, struct err *e)
{
	return change_membership(cli, false, e);
}

const struct command cmd_room_join = {
	.name = "room join",
	.args = "ROOM ADDRESS",
	.help = "add a session to a room",
	.about = "The room is created when its first member joins.",
	.needs = NEEDS_SUPERVISOR,
	.arguments = ARGUMENTS({"ROOM", "name of a room"}),
	.run = room_join,
};

const struct command cmd_room_leave = {
	.name = "room leave",
	.args = "ROOM ADDRESS",
	.help = "remove a session from a room",
	.needs = NEEDS_SUPERVISOR,
	.run = room_leave,
};
