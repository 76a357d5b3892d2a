#include "cli/channel/channel_cli.h"

static void add_optional_text(cJSON *o, const char *name, const char *text)
{
	if (text)
		cJSON_AddStringToObject(o, name, text);
}

static int channel_bind(struct cli *cli, struct err *e)
{
	const char *path = arena_printf(&cli->arena, "/v1/channels/%s/bindings",
					cli_arg(cli, 0));
	bool undo = cli_flag(cli, "undo");
	struct buf b = BUF_MAX(16384);
	cJSON *o, *done;

	if (!undo && !cli_arg(cli, 1))
		return err_set(e, ERR_USAGE, "which agent shall answer?");
	o = cJSON_CreateObject();
	add_optional_text(o, "agent", cli_arg(cli, 1));
	add_optional_text(o, "peer", cli_option(cli, "peer"));
	add_optional_text(o, "kind", cli_option(cli, "kind"));
	add_optional_text(o, "session", cli_option(cli, "session"));
	add_optional_text(o, "threads", cli_option(cli, "threads"));
	json_add(&b, o);
	cJSON_Delete(o);
	done = remote_call(cli, undo ? "DELETE" : "PUT", path, b.p, e);
	buf_fini(&b);
	if (!done)
		return -1;
	output_note(&cli->out, "%s: %s", cli_arg(cli, 0),
		    json_text(done, "note", "done"));
	cJSON_Delete(done);
	return 0;
}

const struct command cmd_channel_bind = {
	.name = "channel bind",
	.args = "NAME [NAME]",
	.help = "let an agent answer on a channel, or one peer of it",
	.about = "First the channel, then the agent: skep channel bind site "
		 "greeter --peer ann.\nThe narrowest binding wins: this peer "
		 "before any, this kind "
		 "before any. Without one the\nchannel's setting 'agent' "
		 "decides, then the default agent.",
	.needs = NEEDS_SUPERVISOR,
	.options =
		(const struct option_spec[]){
			{"peer", "PEER", "only this conversation", OPTION_TEXT},
			{"kind", "any|direct|group", "only such conversations",
			 OPTION_WORD},
			{"session", "KEY", "all of them in this session",
			 OPTION_TEXT},
			{"threads", "conversation|sender",
			 "one session for all, or one for each sender",
			 OPTION_WORD},
			{"undo", NULL, "remove the binding", OPTION_FLAG},
			{NULL, NULL, NULL, OPTION_FLAG}},
	.run = channel_bind,
};
