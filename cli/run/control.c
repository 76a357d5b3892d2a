/* pause, resume, retry, send and note: requests about one run. */
#include "cli/remote.h"

/* The verb of the request is the name of the command. */
static int control_run(struct cli *cli, struct err *e)
{
	return remote_post(cli,
			   remote_path(cli, ID_RUN, cli_arg(cli, 0),
				       cli->args.command->name, e),
			   NULL, e);
}

static int retry_run(struct cli *cli, struct err *e)
{
	const char *path = remote_path(cli, ID_RUN, cli_arg(cli, 0), "retry",
				       e);
	cJSON *run = path ? remote_call(cli, "POST", path, NULL, e) : NULL;

	if (!run)
		return -1;
	if (cli->out.json)
		remote_done(cli, run);
	else
		output_note(&cli->out, "%s", json_text(run, "id", "?"));
	cJSON_Delete(run);
	return 0;
}

static int send_text(struct cli *cli, struct err *e)
{
	return remote_post(
		cli, remote_path(cli, ID_RUN, cli_arg(cli, 0), "messages", e),
		remote_text(cli, "text", cli_arg(cli, 1)), e);
}

static int set_note(struct cli *cli, struct err *e)
{
	return remote_post(cli,
			   remote_path(cli, ID_RUN, cli_arg(cli, 0), "note", e),
			   remote_text(cli, "text", cli_arg(cli, 1)), e);
}

const struct command cmd_pause = {
	.name = "pause",
	.args = "RUN",
	.help = "pause an active run",
	.about = "If the driver of the agent cannot pause, the "
		 "processes of the run are stopped with SIGSTOP.",
	.needs = NEEDS_SUPERVISOR | NEEDS_NO_SETTING,
	.run = control_run,
};

const struct command cmd_resume = {
	.name = "resume",
	.args = "RUN",
	.help = "resume a paused run",
	.needs = NEEDS_SUPERVISOR | NEEDS_NO_SETTING,
	.run = control_run,
};

const struct command cmd_retry = {
	.name = "retry",
	.args = "RUN",
	.help = "start a new run with the input of a finished run",
	.about = "The command prints the id of the new run.",
	.needs = NEEDS_SUPERVISOR | NEEDS_NO_SETTING,
	.run = retry_run,
};

const struct command cmd_send = {
	.name = "send",
	.args = "RUN TEXT",
	.help = "send a message to an active run",
	.needs = NEEDS_SUPERVISOR | NEEDS_NO_SETTING,
	.arguments = ARGUMENTS({"TEXT", "message for the agent"}),
	.run = send_text,
};

const struct command cmd_note = {
	.name = "note",
	.args = "RUN TEXT",
	.help = "set or remove the note of a run",
	.about = "'skep show' prints the note. The agent does not see it.\n"
		 "\n"
		 "Example:\n"
		 "  skep note run_01jb... 'wrong branch, see the next run'",
	.needs = NEEDS_SUPERVISOR | NEEDS_NO_SETTING,
	.arguments = ARGUMENTS(
		{"TEXT", "note of at most 64 KiB; '' removes the note"}),
	.may_be_empty = "TEXT",
	.run = set_note,
};
