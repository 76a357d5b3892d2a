#include "cli/channel/channel_cli.h"

static int msg_collect(struct cli *cli, struct err *e)
{
	struct talker t;
	const char *path;

	if (talker_arg(cli, 0, &t, e))
		return -1;
	path = arena_printf(&cli->arena,
			    "/v1/messages/%s/%s/collect?limit=%lld", t.agent,
			    url_text(cli, t.session ? t.session : "main"),
			    (long long)cli_number(cli, "limit", 100));
	return print_messages(cli, path, e) < 0 ? -1 : 0;
}

const struct command cmd_msg_collect = {
	.name = "msg collect",
	.args = "AGENT [SESSION]",
	.help = "print the unread messages of a session; they are read then",
	.about = "AGENT/SESSION is the same in one word; without a session it "
		 "is main.",
	.needs = NEEDS_SUPERVISOR,
	.options =
		(const struct option_spec[]){
			{"limit", "N", "at most so many (100)", OPTION_COUNT},
			{NULL, NULL, NULL, OPTION_FLAG}},
	.run = msg_collect,
};
