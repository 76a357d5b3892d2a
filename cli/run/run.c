#include "schema/control/run.h"
#include "cli/remote.h"
#include "cli/run/attachment.h"
#include "cli/run/run_view.h"
#include "lib/json/json.h"

#include <string.h>

#define BODY_MAX (64u << 20)

static void add_number(struct cli *cli, struct buf *b, const char *option,
		       const char *name)
{
	if (cli_option(cli, option))
		buf_addf(b, ",\"%s\":%lld", name,
			 (long long)cli_number(cli, option, 0));
}

static void add_tags(struct cli *cli, struct buf *b)
{
	const char *tag;

	for (int i = 0; (tag = cli_many(cli, "tag", i)); i++) {
		buf_adds(b, i ? "," : ",\"tags\":[");
		json_add_string(b, tag, strlen(tag));
	}
	if (cli_many(cli, "tag", 0))
		buf_addc(b, ']');
}

/* Options of the command and members of the request, by kind. */
static void add_options(struct cli *cli, struct buf *b)
{
	static const char *const texts[][2] = {{"session", "session"},
					       {"policy", "policy"},
					       {"parent", "parent"},
					       {"key", "idem_key"},
					       {"invocation", "invocation"}};
	static const char *const numbers[][2] = {
		{"priority", "priority"},
		{"delay", "delay_ms"},
		{"timeout", "run_timeout_ms"},
		{"idle-timeout", "idle_timeout_ms"},
		{"queue-timeout", "queue_timeout_ms"},
		{"grace", "grace_ms"},
		{"attempts", "max_attempts"}};

	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
		json_add_member(b, texts[i][1], cli_option(cli, texts[i][0]));
	for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
		add_number(cli, b, numbers[i][0], numbers[i][1]);
	add_tags(cli, b);
}

static int read_prompt(struct cli *cli, struct buf *prompt, struct err *e)
{
	const char *text = cli_arg(cli, 1);

	if (strcmp(text, "-") == 0)
		return cli_read_text("-", "the prompt", prompt, e);
	buf_adds(prompt, text);
	return buf_ok(prompt, "the prompt", e);
}

/* Standard input is read once. */
static int check_inputs(struct cli *cli, struct err *e)
{
	int n = strcmp(cli_arg(cli, 1), "-") == 0;
	const char *path;

	for (int i = 0; (path = cli_many(cli, "attach", i)); i++)
		n += strcmp(path, "-") == 0;
	return n > 1 ? err_set(e, ERR_USAGE,
			       "'-' (standard input) can be given only once")
		     : 0;
}

static int add_attachments(struct cli *cli, struct buf *b, struct err *e)
{
	const char *path;

	for (int i = 0; (path = cli_many(cli, "attach", i)); i++) {
		buf_adds(b, i ? "," : ",\"attachments\":[");
		if (attachment_add(path, b, e))
			return -1;
	}
	if (cli_many(cli, "attach", 0))
		buf_addc(b, ']');
	return 0;
}

static int make_body(struct cli *cli, struct buf *b, struct err *e)
{
	struct buf prompt = BUF_MAX(RUN_PROMPT_MAX);
	int rc = check_inputs(cli, e);

	if (rc == 0)
		rc = read_prompt(cli, &prompt, e);
	buf_adds(b, "{\"agent\":");
	json_add_string(b, cli_arg(cli, 0), strlen(cli_arg(cli, 0)));
	json_add_member(b, "prompt", prompt.p);
	add_options(cli, b);
	if (rc == 0)
		rc = add_attachments(cli, b, e);
	buf_addc(b, '}');
	if (rc == 0)
		rc = buf_ok(b, "the request", e);
	buf_fini(&prompt);
	return rc;
}

/* With --follow and --wait to the run's end, whose outcome is ours. */
static int see_through(struct cli *cli, const cJSON *made, struct err *e)
{
	struct run_view v = {
		.id = json_text(made, "id", ""),
		.follow = true,
		.quiet = !cli_flag(cli, "follow"),
	};
	struct run_row row;

	if (run_view_print(cli, &v, e))
		return -1;
	if (v.quiet && cli->out.json) {
		if (run_view_get(cli, v.id, &row, e))
			return -1;
		output_object(&cli->out, &run_row_shape, &row);
	}
	if (run_view_outcome(cli, v.id, e))
		return -1;
	if (v.quiet)
		output_note(&cli->out, "%s succeeded", v.id);
	return 0;
}

static int run_agent(struct cli *cli, struct err *e)
{
	bool stay = cli_flag(cli, "follow") || cli_flag(cli, "wait");
	struct buf body = BUF_MAX(BODY_MAX);
	cJSON *made = NULL;
	int rc = make_body(cli, &body, e);

	if (rc == 0) {
		made = remote_call(cli, "POST", "/v1/runs", body.p, e);
		rc = made ? 0 : -1;
	}
	if (rc == 0 && stay) {
		rc = see_through(cli, made, e);
	} else if (rc == 0 && cli->out.json) {
		buf_clear(&body);
		json_add(&body, made);
		output_json(&cli->out, body.p);
	} else if (rc == 0) {
		output_note(&cli->out, "%s", json_text(made, "id", ""));
	}
	cJSON_Delete(made);
	buf_fini(&body);
	return rc;
}

const struct command cmd_run = {
	.name = "run",
	.args = "AGENT PROMPT",
	.help = "start a run of an agent",
	.about = "The command prints the id of the run and returns. "
		 "With --follow or --wait it returns when the run has "
		 "ended, and the exit status is 0 if it succeeded, 1 "
		 "if it failed, and 75 if it was cancelled or timed "
		 "out.\n"
		 "\n"
		 "Example:\n"
		 "  skep run ada 'what is in this picture?' --attach "
		 "cat.png --follow",
	.needs = NEEDS_SUPERVISOR,
	.arguments = ARGUMENTS(
		{"PROMPT", "task for the agent, UTF-8 text of at most 1 MiB; "
			   "'-' reads standard input"}),
	.options = OPTIONS(
		OPTION(TEXT, 's', "session", "SESSION",
		       "continue this session; a session executes one run "
		       "at a time"),
		OPTION(MANY, 0, "attach", "FILE",
		       "attach a file to the prompt; '-' reads standard "
		       "input; may be repeated"),
		OPT_FOLLOW("print the output of the run until it ends"),
		FLAG('w', "wait", "wait until the run ends"),
		OPTION(WORD, 0, "policy", "queue|reject|interrupt",
		       "what to do if the session is busy (default queue)"),
		OPTION(INT, 0, "priority", "N",
		       "priority from -100 to 100; runs with a higher priority "
		       "start first (default 0)"),
		OPTION(MANY, 't', "tag", "TAG",
		       "label the run; may be repeated"),
		OPTION(TEXT, 'k', "key", "KEY",
		       "idempotency key; the same key returns the same run"),
		OPTION(TEXT, 0, "invocation", "ID",
		       "group the run with other runs of this invocation"),
		OPTION(TEXT, 0, "parent", "RUN",
		       "make this a child run of RUN; cancelling RUN cancels "
		       "it too"),
		OPTION(MILLIS, 0, "delay", "TIME",
		       "wait for this time before starting the run"),
		OPTION(MILLIS, 0, "timeout", "TIME",
		       "stop the run after this time"),
		OPTION(MILLIS, 0, "idle-timeout", "TIME",
		       "stop the run after this time without output"),
		OPTION(MILLIS, 0, "queue-timeout", "TIME",
		       "fail the run if it is in the queue for longer than "
		       "this"),
		OPTION(MILLIS, 0, "grace", "TIME",
		       "time from a cancel request to SIGTERM"),
		OPTION(INT, 0, "attempts", "N",
		       "maximum number of attempts if the run fails with a "
		       "temporary error")),
	.run = run_agent,
};
