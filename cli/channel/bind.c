/* channel bind and unbind. */
#include "cli/channel/channel_cli.h"

static void print_binding(struct cli *cli, const cJSON *done, bool bind)
{
	const char *peer = cli_option(cli, "peer");
	const char *kind = cli_option(cli, "kind");
	const char *with = arena_printf(&cli->arena, "%s conversations%s%s",
					kind ? kind : "all",
					peer ? " with " : "", peer ? peer : "");

	if (bind)
		remote_result(cli, done, "channel %s: agent %s answers %s",
			      cli_arg(cli, 0), cli_arg(cli, 1), with);
	else
		remote_result(cli, done,
			      "channel %s: removed the binding of %s",
			      cli_arg(cli, 0), with);
}

static int change_binding(struct cli *cli, bool bind, struct err *e)
{
	static const char *const texts[][2] = {
		{"peer", "peer"},
		{"kind", "kind"},
		{"session", "session"},
		{"session_per", "session-per"},
	};
	const char *path = arena_printf(&cli->arena, "/v1/channels/%s/bindings",
					cli_arg(cli, 0));
	struct buf b = BUF_MAX(16384);
	cJSON *done;
	bool changed;

	json_begin_object(&b);
	json_put_text(&b, "agent", cli_arg(cli, 1));
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
		json_put_text(&b, texts[i][0], cli_option(cli, texts[i][1]));
	json_end_object(&b);
	done = remote_call(cli, bind ? "PUT" : "DELETE", path, b.p, e);
	buf_fini(&b);
	if (!done)
		return -1;
	changed = json_bool(done, "changed", true);
	if (changed)
		print_binding(cli, done, bind);
	cJSON_Delete(done);
	return changed ? 0
		       : err_set(e, ERR_NOTFOUND,
				 "channel '%s' has no such binding; 'skep "
				 "channel show %s --bindings' lists them",
				 cli_arg(cli, 0), cli_arg(cli, 0));
}

static int channel_bind(struct cli *cli, struct err *e)
{
	return change_binding(cli, true, e);
}

static int channel_unbind(struct cli *cli, struct err *e)
{
	return change_binding(cli, false, e);
}

const struct command cmd_channel_bind = {
	.name = "channel bind",
	.args = "CHANNEL AGENT",
	.help = "choose the agent that answers on a channel",
	.about = "The most specific binding applies: first by peer, "
		 "then by kind of conversation. Without a binding, "
		 "the setting 'agent' of the channel applies, then "
		 "the default agent.\n"
		 "\n"
		 "Example:\n"
		 "  skep channel bind site greeter --peer ann",
	.needs = NEEDS_SUPERVISOR,
	.options = OPTIONS(
		OPTION(TEXT, 0, "peer", "PEER",
		       "apply only to the conversation with this peer"),
		OPTION(WORD, 0, "kind", "any|direct|group",
		       "apply only to conversations of this kind (default "
		       "any)"),
		OPTION(TEXT, 's', "session", "SESSION",
		       "use this session for all messages"),
		OPTION(WORD, 0, "session-per", "conversation|sender",
		       "use one session per conversation or per sender")),
	.run = channel_bind,
};

const struct command cmd_channel_unbind = {
	.name = "channel unbind",
	.args = "CHANNEL",
	.help = "remove a binding of a channel",
	.needs = NEEDS_SUPERVISOR,
	.options = OPTIONS(
		OPTION(TEXT, 0, "peer", "PEER",
		       "remove the binding for this peer"),
		OPTION(WORD, 0, "kind", "any|direct|group",
		       "remove the binding for conversations of this kind "
		       "(default any)")),
	.run = channel_unbind,
};
