#include "cli/channel_cli.h"

static int msg_join(struct cli *cli, struct err *e)
{
	const char *session = cli_arg(cli, 2) ? cli_arg(cli, 2) : "main";
	const char *path = arena_printf(&cli->arena, "/v1/rooms/%s/%s/%s",
					url_text(cli, cli_arg(cli, 0)),
					cli_arg(cli, 1),
					url_text(cli, session));

	if (cli_ask(cli, "PUT", path, "{}", NULL, e) < 0)
		return -1;
	output_note(&cli->out, "%s/%s: join %s", cli_arg(cli, 1), session,
		    cli_arg(cli, 0));
	return 0;
}

const struct command cmd_msg_join = {
	.name = "msg join",
	.args = "ROOM NAME [SESSION]",
	.help = "make a session a member of a room",
	.needs = NEEDS_SUPERVISOR,
	.run = msg_join,
};
