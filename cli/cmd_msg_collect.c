#include "cli/channel_cli.h"

static int msg_collect(struct cli *cli, struct err *e)
{
	const char *session = cli_arg(cli, 1) ? cli_arg(cli, 1) : "main";
	const char *path = arena_printf(
		&cli->arena, "/v1/messages/%s/%s/collect?limit=%lld",
		cli_arg(cli, 0), url_text(cli, session),
		(long long)cli_number(cli, "limit", 100));

	return print_messages(cli, path, e) < 0 ? -1 : 0;
}

const struct command cmd_msg_collect = {
	.name = "msg collect",
	.args = "NAME [SESSION]",
	.help = "print the unread messages of a session; they are read then",
	.needs = NEEDS_SUPERVISOR,
	.options =
		(const struct option_spec[]){
			{"limit", "N", "at most so many (100)", OPTION_INT},
			{NULL, NULL, NULL, OPTION_FLAG}},
	.run = msg_collect,
};
