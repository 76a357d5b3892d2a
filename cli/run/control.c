/* pause, resume, retry, send and note: requests about runs. */
#include "cli/remote.h"
#include "cli/run/run_select.h"

static int post_to_run(struct cli *cli, const char *id, const char *verb,
		       const char *body, struct err *e)
{
	return remote_post(cli, remote_path(cli, ID_RUN, id, verb, e), body, e);
}

/* The verb of the request is the name of the command. */
static int control_run(struct cli *cli, const char *id, struct err *e)
{
	return post_to_run(cli, id, cli->args.command->name, NULL, e);
}

static int control_runs(struct cli *cli, const char *states, struct err *e)
{
	struct run_ids runs;

	if (run_select(cli, cli->args.nwords, states, &runs, e))
		return -1;
	return run_each(cli, &runs, control_run, e);
}

static int pause_runs(struct cli *cli, struct err *e)
{
	return control_runs(cli, "running", e);
}

static int resume_runs(struct cli *cli, struct err *e)
{
	return control_runs(cli, "paused", e);
}

/* The new run is named first, with the run that it repeats. */
static int retry_run(struct cli *cli, const char *id, struct err *e)
{
	const char *path = remote_path(cli, ID_RUN, id, "retry", e);
	cJSON *run = path ? remote_call(cli, "POST", path, NULL, e) : NULL;

	if (!run)
		return -1;
	if (cli->out.json)
		remote_done(cli, run);
	else if (cli_flag(cli, "quiet"))
		output_note(&cli->out, "%s", json_text(run, "id", "?"));
	else
		output_note(&cli->out, "started the new run %s, a retry of %s",
			    json_text(run, "id", "?"), id);
	cJSON_Delete(run);
	return 0;
}

static int retry_runs(struct cli *cli, struct err *e)
{
	struct run_ids runs;

	if (run_select(cli, cli->args.nwords, "failed timed_out cancelled",
		       &runs, e))
		return -1;
	return run_each(cli, &runs, retry_run, e);
}

/* The text is the last word. */
static const char *last_word(struct cli *cli)
{
	return cli_arg(cli, cli->args.nwords - 1);
}

static int send_to_run(struct cli *cli, const char *id, struct err *e)
{
	return post_to_run(cli, id, "messages",
			   remote_text(cli, "text", last_word(cli)), e);
}

static int send_text(struct cli *cli, struct err *e)
{
	struct run_ids runs;

	if (run_select(cli, cli->args.nwords - 1, "running paused", &runs, e))
		return -1;
	return run_each(cli, &runs, send_to_run, e);
}

static int note_run(struct cli *cli, const char *id, struct err *e)
{
	return post_to_run(cli, id, "note",
			   remote_text(cli, "text", last_word(cli)), e);
}

static int set_note(struct cli *cli, struct err *e)
{
	struct run_ids runs;

	if (run_select(cli, cli->args.nwords - 1, NULL, &runs, e))
		return -1;
	return run_each(cli, &runs, note_run, e);
}

const struct command cmd_pause = {
	.name = "pause",
	.args = "[RUN...]",
	.help = "pause active runs",
	.about = "If the driver of the agent cannot pause, the "
		 "processes of the run are stopped with SIGSTOP. Options "
		 "select running runs.",
	.needs = NEEDS_SUPERVISOR | NEEDS_NO_SETTING,
	.options = OPTIONS(RUN_SELECT_OPTIONS),
	.run = pause_runs,
};

const struct command cmd_resume = {
	.name = "resume",
	.args = "[RUN...]",
	.help = "resume paused runs",
	.about = "Options select paused runs.",
	.needs = NEEDS_SUPERVISOR | NEEDS_NO_SETTING,
	.options = OPTIONS(RUN_SELECT_OPTIONS),
	.run = resume_runs,
};

const struct command cmd_retry = {
	.name = "retry",
	.args = "[RUN...]",
	.help = "start a new run with the input of a finished run",
	.about = "The command prints the id of the new run. Without --state, "
		 "options select runs that failed, timed out or were "
		 "cancelled.",
	.needs = NEEDS_SUPERVISOR | NEEDS_NO_SETTING,
	.options = OPTIONS(RUN_SELECT_OPTIONS,
			   FLAG('q', "quiet",
				"print only the id of the new "
				"run")),
	.run = retry_runs,
};

const struct command cmd_send = {
	.name = "send",
	.args = "[RUN...] TEXT",
	.help = "send a message to active runs",
	.about = "Options select running and paused runs.",
	.needs = NEEDS_SUPERVISOR | NEEDS_NO_SETTING,
	.arguments = ARGUMENTS({"TEXT", "message for the agent"}),
	.options = OPTIONS(RUN_SELECT_OPTIONS),
	.run = send_text,
};

const struct command cmd_note = {
	.name = "note",
	.args = "[RUN...] TEXT",
	.help = "set or remove the note of runs",
	.about = "'skep show' prints the note. The agent does not see it.\n"
		 "\n"
		 "Example:\n"
		 "  skep note last 'wrong branch, see the next run'",
	.needs = NEEDS_SUPERVISOR | NEEDS_NO_SETTING,
	.arguments = ARGUMENTS(
		{"TEXT", "note of at most 64 KiB; '' removes the note"}),
	.may_be_empty = "TEXT",
	.options = OPTIONS(RUN_SELECT_OPTIONS),
	.run = set_note,
};
