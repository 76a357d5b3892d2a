#include "cli/channel_cli.h"

static int msg_leave(struct cli *cli, struct err *e)
{
	const char *session = cli_arg(cli, 2) ? cli_arg(cli, 2) : "main";
	const char *path = arena_printf(&cli->arena, "/v1/rooms/%s/%s/%s",
					url_text(cli, cli_arg(cli, 0)),
					cli_arg(cli, 1),
					url_text(cli, session));

	if (cli_ask(cli, "DELETE", path, "{}", NULL, e) < 0)
		return -1;
	output_note(&cli->out, "%s/%s: leave %s", cli_arg(cli, 1), session,
		    cli_arg(cli, 0));
	return 0;
}

const struct command cmd_msg_leave = {
	.name = "msg leave",
	.args = "ROOM NAME [SESSION]",
	.help = "let a session leave a room",
	.needs = NEEDS_SUPERVISOR,
	.run = msg_leave,
};
