#include "schema/control/run.h"
#include "cli/remote.h"
#include "cli/run/attachment.h"
#include "cli/run/run_view.h"
#include "lib/base/text.h"
#include "lib/json/json.h"
#include "schema/agent/transcript/answer.h"
#include "schema/vocab.h"

#include <stdlib.h>
#include <string.h>

#define BODY_MAX (64u << 20)

static const struct {
	const char *type;
	int64_t min, max;
} ranges[] = {
#define RUN_RANGE(type, min, max) {#type, min, max},
#include "schema/control/run_range.def"
#undef RUN_RANGE
};

/* Members of the request that have an option. */
static const struct {
	const char *name;
	enum field_type type;
	const char *range;  /* type of the member in a body */
	const char *option; /* or NULL */
} members[] = {
#define NAME_NONE                                      NULL
#define NAME_OPTION(kind, letter, option, value, help) option
#define RUN_MEMBER(field, name, type, need, column, again, option) \
	{#name, FIELD_##field, #type, NAME_##option},
#include "schema/control/run_request.def"
#undef RUN_MEMBER
};

/* Options that may be repeated: files, or texts. */
static int put_items(struct cli *cli, struct buf *b, const char *member,
		     const char *option, struct err *e)
{
	bool files = strcmp(option, "attach") == 0;
	const char *value;

	if (!cli_many(cli, option, 0))
		return 0;
	json_put_array(b, member);
	for (int i = 0; (value = cli_many(cli, option, i)); i++) {
		if (!files)
			json_add_text(b, value);
		else if (attachment_add(value, b, e))
			return -1;
	}
	json_end_array(b);
	return 0;
}

/* A directory is relative to ours, not to that of skepd. */
static int put_path(struct cli *cli, struct buf *b, const char *member,
		    const char *option, struct err *e)
{
	const char *given = cli_option(cli, option);
	char *full = given ? realpath(given, NULL) : NULL;

	if (given && !full)
		return err_errno_set(e, "--%s %s", option, quoted(given).text);
	json_put_text(b, member, full);
	free(full);
	return 0;
}

static int put_number(struct cli *cli, struct buf *b, size_t member,
		      struct err *e)
{
	const char *option = members[member].option;
	int64_t n = cli_number(cli, option, 0);

	if (!cli_option(cli, option))
		return 0;
	for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++)
		if (!strcmp(ranges[i].type, members[member].range) &&
		    (n < ranges[i].min || n > ranges[i].max))
			return err_set(e, ERR_USAGE,
				       "--%s: %s is not between %lld and "
				       "%lld%s",
				       option, cli_option(cli, option),
				       (long long)ranges[i].min,
				       (long long)ranges[i].max,
				       strcmp(ranges[i].type, "millis")
					       ? ""
					       : " milliseconds");
	json_put_int(b, members[member].name, n);
	return 0;
}

static int put_members(struct cli *cli, struct buf *b, struct err *e)
{
	for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
		const char *option = members[i].option;

		if (!option)
			continue;
		if (!strcmp(option, "over")) {
			if (put_path(cli, b, members[i].name, option, e))
				return -1;
		} else if (members[i].type == FIELD_text)
			json_put_text(b, members[i].name,
				      cli_option(cli, option));
		else if (members[i].type == FIELD_bool)
			json_put_bool(b, members[i].name,
				      cli_flag(cli, option));
		else if (members[i].type == FIELD_json) {
			if (put_items(cli, b, members[i].name, option, e))
				return -1;
		} else if (put_number(cli, b, i, e))
			return -1;
	}
	return 0;
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

static int make_body(struct cli *cli, struct buf *b, struct err *e)
{
	struct buf prompt = BUF_MAX(RUN_PROMPT_MAX);
	int rc = check_inputs(cli, e);

	if (rc == 0)
		rc = read_prompt(cli, &prompt, e);
	json_begin_object(b);
	json_put_text(b, "agent", cli_arg(cli, 0));
	json_put_text(b, "prompt", prompt.p);
	if (rc == 0)
		rc = put_members(cli, b, e);
	json_end_object(b);
	if (rc == 0)
		rc = buf_ok(b, "the request", e);
	buf_fini(&prompt);
	return rc;
}

/* The answer of the agent, or the output of the command. */
static int print_answer(struct cli *cli, const struct run_row *row,
			struct err *e)
{
	struct buf answer = BUF_MAX(BODY_MAX);
	int found = run_view_open_file(cli, row->agent, e), rc = found;

	if (found == 1)
		rc = answer_of_run(&cli->agent, row->id, row->session, &answer,
				   e);
	if (rc >= 0 && answer.n == 0)
		fprintf(stderr, "skep: run %s succeeded without an answer\n",
			row->id);
	else if (rc >= 0)
		output_text(&cli->out, answer.p, answer.n);
	if (rc >= 0 && answer.n > 0 && answer.p[answer.n - 1] != '\n')
		output_note(&cli->out, "%s", "");
	buf_fini(&answer);
	return rc < 0 ? -1 : 0;
}

/* With --follow or --wait, waits for the end of the run; its outcome is that of
 * the command. */
static int see_through(struct cli *cli, const cJSON *made, struct err *e)
{
	struct run_view v = {
		.id = json_text(made, "id", ""),
		.follow = true,
		.quiet = !cli_flag(cli, "follow"),
	};
	struct run_row row;

	if (run_view_print(cli, &v, e) || run_view_get(cli, v.id, &row, e))
		return -1;
	if (v.quiet && cli->out.json)
		output_object(&cli->out, &run_row_shape, &row);
	if (run_view_outcome(cli, v.id, e))
		return -1;
	return v.quiet && !cli->out.json ? print_answer(cli, &row, e) : 0;
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

static const struct option_spec options[] = {
	OPT_FOLLOW("print the events of the run until it ends"),
	FLAG('w', "wait", "wait until the run ends and print its answer"),
#define SPEC_NONE
#define SPEC_OPTION(kind, letter, name, value, help) \
	OPTION(kind, letter, name, value, help),
#define RUN_MEMBER(field, name, type, need, column, again, option) SPEC_##option
#include "schema/control/run_request.def"
#undef RUN_MEMBER
	{.name = NULL},
};

const struct command cmd_run = {
	.name = "run",
	.args = "AGENT PROMPT",
	.help = "start a run of an agent",
	.about = "The command prints the id of the run and returns. With "
		 "--wait or --follow it returns when the run has ended. --wait "
		 "prints the answer of the agent: its last message, or the "
		 "output of its command; with --json, it prints the run. "
		 "--follow prints every event as it happens.\n"
		 "\n"
		 "With --wait or --follow the exit status is 0 if the run "
		 "succeeded, 1 if it failed, and 75 if it was cancelled or "
		 "timed out.\n"
		 "\n"
		 "Examples:\n"
		 "  skep run ada 'name three primes' --wait\n"
		 "  skep run ada 'what is in this picture?' --attach "
		 "cat.png --follow",
	.needs = NEEDS_SUPERVISOR,
	.arguments = ARGUMENTS(
		{"PROMPT", "task for the agent, UTF-8 text of at most 1 MiB; "
			   "'-' reads standard input"}),
	.options = options,
	.run = run_agent,
};
