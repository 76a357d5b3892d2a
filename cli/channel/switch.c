/* channel enable, disable, pause and resume. */
#include "cli/channel/channel_cli.h"
#include "lib/base/clock.h"
#include "schema/control/channel/channel_delete.h"
#include "schema/control/control.h"

#include <string.h>

static int switch_direct(struct cli *cli, void *arg, struct err *e)
{
	const char *verb = arg, *name = cli_arg(cli, 0);
	struct channel_switch_in in = {name, OPT_NONE, OPT_NONE, clock_now()};
	struct channel_row row;

	if (channels_get(cli->control, name, &row, &cli->arena, e) ||
	    channel_check_not_deleting(&row, e))
		return -1;
	if (!strcmp(verb, "enable") || !strcmp(verb, "disable"))
		in.is_enabled = !strcmp(verb, "enable");
	else
		in.is_paused = !strcmp(verb, "pause");
	if (sql_exec(cli->control, Q_CHANNEL_SWITCH, &in, e) < 0)
		return -1;
	return control_audit(cli->control, NULL, "channel.switch", name, NULL,
			     e);
}

/* Returns 1 after it printed the supervisor's note, if that says more than the
 * verb. */
static int switch_supervised(struct cli *cli, const struct cli_act *act,
			     const char *verb, struct err *e)
{
	cJSON *answer = remote_call(cli, act->method, act->path, NULL, e);
	const char *note = json_text(answer, "note", verb);
	bool more;

	if (!answer)
		return -1;
	more = strcmp(note, verb) != 0;
	if (more)
		output_note(&cli->out, "%s: %s", cli_arg(cli, 0), note);
	cJSON_Delete(answer);
	return more;
}

/* The verb is the second word of the command's name. */
static int switch_channel(struct cli *cli, struct err *e)
{
	const char *name = cli_arg(cli, 0);
	const char *verb = strchr(cli->args.command->name, ' ') + 1;
	struct cli_act act = {
		.method = "POST",
		.path = arena_printf(&cli->arena, "/v1/channels/%s/%s", name,
				     verb),
		.direct = switch_direct,
		.arg = arena_text(&cli->arena, verb),
	};
	int rc;

	rc = cli->supervised ? switch_supervised(cli, &act, verb, e)
			     : cli_act(cli, &act, e);
	if (rc < 0)
		return -1;
	if (cli->out.json)
		return channel_print(cli, name, e);
	if (rc == 0)
		output_note(&cli->out, "%s%s channel %s", verb,
			    verb[strlen(verb) - 1] == 'e' ? "d" : "ed", name);
	return 0;
}

const struct command cmd_channel_enable = {
	.name = "channel enable",
	.args = "CHANNEL...",
	.each = true,
	.help = "enable a channel",
	.about = "If a plugin failed and waits for a restart, it is restarted "
		 "at once.",
	.needs = NEEDS_CONTROL_WRITE,
	.run = switch_channel,
};

const struct command cmd_channel_disable = {
	.name = "channel disable",
	.args = "CHANNEL...",
	.each = true,
	.help = "disable a channel; its pending messages stay queued",
	.needs = NEEDS_CONTROL_WRITE,
	.run = switch_channel,
};

const struct command cmd_channel_pause = {
	.name = "channel pause",
	.args = "CHANNEL...",
	.each = true,
	.help = "pause the delivery of messages on a channel",
	.needs = NEEDS_CONTROL_WRITE,
	.run = switch_channel,
};

const struct command cmd_channel_resume = {
	.name = "channel resume",
	.args = "CHANNEL...",
	.each = true,
	.help = "resume a paused or throttled channel",
	.needs = NEEDS_CONTROL_WRITE,
	.run = switch_channel,
};
