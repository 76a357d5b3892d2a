/* schedule pause, resume, fire and rm. */
#include "cli/remote.h"
#include "cli/schedule/schedule_cli.h"

#include <string.h>

static int post_verb(struct cli *cli, const char *verb, const char *did,
		     struct err *e)
{
	const char *name = cli_arg(cli, 0);
	const char *path = schedule_path(cli, name, verb, e);
	cJSON *done = path ? remote_call(cli, "POST", path, NULL, e) : NULL;

	if (!done)
		return -1;
	if (json_bool(done, "changed", true) &&
	    strcmp(json_text(done, "note", ""), "not fired") != 0)
		remote_result(cli, done, "%s schedule %s", did, name);
	else
		remote_result(cli, done, "schedule %s: %s", name,
			      json_text(done, "note", ""));
	cJSON_Delete(done);
	return 0;
}

static int schedule_pause(struct cli *cli, struct err *e)
{
	return post_verb(cli, "pause", "paused", e);
}

static int schedule_resume(struct cli *cli, struct err *e)
{
	return post_verb(cli, "resume", "resumed", e);
}

static int schedule_fire(struct cli *cli, struct err *e)
{
	return post_verb(cli, "fire", "fired", e);
}

static int schedule_rm(struct cli *cli, struct err *e)
{
	const char *name = cli_arg(cli, 0);
	const char *path = schedule_path(cli, name, NULL, e);
	cJSON *done;

	if (!path || cli_confirm(cli,
				 arena_printf(&cli->arena,
					      "schedule %s and its log", name),
				 e))
		return -1;
	done = remote_call(cli, "DELETE", path, NULL, e);
	if (!done)
		return -1;
	remote_result(cli, done, "deleted schedule %s", name);
	cJSON_Delete(done);
	return 0;
}

const struct command cmd_schedule_pause = {
	.name = "schedule pause",
	.args = "SCHEDULE",
	.help = "stop firing a schedule",
	.about = "Slots that pass while it is paused do not fire later.",
	.needs = NEEDS_SUPERVISOR,
	.arguments = ARGUMENTS(SCHEDULE_NAME),
	.run = schedule_pause,
};

const struct command cmd_schedule_resume = {
	.name = "schedule resume",
	.args = "SCHEDULE",
	.help = "fire a paused or held schedule again",
	.about = "A schedule that came with an imported agent is held until "
		 "this command confirms it.",
	.needs = NEEDS_SUPERVISOR,
	.arguments = ARGUMENTS(SCHEDULE_NAME),
	.run = schedule_resume,
};

const struct command cmd_schedule_fire = {
	.name = "schedule fire",
	.args = "SCHEDULE",
	.help = "fire a schedule once now, beside its slots",
	.about = "The policy of overlap applies; 'skep schedule log' shows the "
		 "result.",
	.needs = NEEDS_SUPERVISOR,
	.arguments = ARGUMENTS(SCHEDULE_NAME),
	.run = schedule_fire,
};

const struct command cmd_schedule_rm = {
	.name = "schedule rm",
	.args = "SCHEDULE",
	.help = "delete a schedule and its log",
	.about = "Runs that it started continue.",
	.needs = NEEDS_SUPERVISOR,
	.arguments = ARGUMENTS(SCHEDULE_NAME),
	.options = OPTIONS(OPT_YES("do not ask for confirmation")),
	.run = schedule_rm,
};
