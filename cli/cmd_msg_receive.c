#include "cli/channel_cli.h"

static int msg_receive(struct cli *cli, struct err *e)
{
	const char *session = cli_arg(cli, 1) ? cli_arg(cli, 1) : "main";
	const char *ack = cli_option(cli, "ack");
	const char *path = arena_printf(
		&cli->arena, "/v1/messages/%s/%s/receive%s%s", cli_arg(cli, 0),
		url_text(cli, session), ack ? "?ack=" : "",
		ack ? url_text(cli, ack) : "");

	return print_messages(cli, path, e);
}

const struct command cmd_msg_receive = {
	.name = "msg receive",
	.args = "NAME [SESSION]",
	.help = "print the oldest unread message; it is read with --ack",
	.needs = NEEDS_SUPERVISOR,
	.options =
		(const struct option_spec[]){
			{"ack", "ID", "this one was dealt with: it is read now",
			 OPTION_TEXT},
			{NULL, NULL, NULL, OPTION_FLAG}},
	.run = msg_receive,
};
