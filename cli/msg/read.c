#include "cli/channel/channel_cli.h"

static int msg_read(struct cli *cli, struct err *e)
{
	struct address t;
	const char *path;

	if (address_arg(cli, 0, &t, e))
		return -1;
	path = arena_printf(&cli->arena, "/v1/messages/%s/%s/read?limit=%lld",
			    t.agent,
			    url_text(cli, t.session ? t.session : "main"),
			    (long long)cli_number(cli, "limit", 100));
	return print_messages(
		       cli, path,
		       arena_printf(&cli->arena, "no unread messages of %s/%s",
				    t.agent, t.session ? t.session : "main"),
		       e) < 0
		       ? -1
		       : 0;
}

const struct command cmd_msg_read = {
	.name = "msg read",
	.args = "ADDRESS",
	.help = "print the unread messages of a session and mark "
		"them as read",
	.needs = NEEDS_SUPERVISOR,
	.options = OPTIONS(OPT_LIMIT("print at most N messages (default 100)")),
	.run = msg_read,
};
