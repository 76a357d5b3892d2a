#include "schema/control/run.h"
#include "cli/remote.h"
#include "cli/run/attachment.h"
#include "cli/run/run_foreground.h"
#include "lib/base/text.h"
#include "lib/json/json.h"
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

/* The range in the form that users type. */
static int reject_number(const struct cli *cli, const char *option,
			 const char *type, int64_t min, int64_t max,
			 struct err *e)
{
	char low[TEXT_HUMAN], high[TEXT_HUMAN];

	if (!strcmp(type, "millis")) {
		text_duration(min, low);
		text_duration(max, high);
	} else {
		snprintf(low, sizeof low, "%lld", (long long)min);
		snprintf(high, sizeof high, "%lld", (long long)max);
	}
	return err_set(e, ERR_USAGE, "--%s: %s is not between %s and %s",
		       option, quoted(cli_option(cli, option)).text, low, high);
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
			return reject_number(cli, option, ranges[i].type,
					     ranges[i].min, ranges[i].max, e);
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

static int check_ways(struct cli *cli, struct err *e)
{
	int n = cli_flag(cli, "detach") + cli_flag(cli, "follow") +
		(cli_flag(cli, "print") || cli_flag(cli, "wait"));

	return n > 1 ? err_set(e, ERR_USAGE,
			       "choose one of --detach, --follow and --print")
		     : 0;
}

static int print_made(struct cli *cli, const cJSON *made)
{
	struct buf b = BUF_MAX(BODY_MAX);

	if (cli->out.json) {
		json_add(&b, made);
		output_json(&cli->out, b.p);
	} else {
		output_note(&cli->out, "%s", json_text(made, "id", ""));
	}
	buf_fini(&b);
	return 0;
}

static int run_agent(struct cli *cli, struct err *e)
{
	struct buf body = BUF_MAX(BODY_MAX);
	cJSON *made = NULL;
	int rc = check_ways(cli, e) || make_body(cli, &body, e) ? -1 : 0;

	if (rc == 0) {
		made = remote_call(cli, "POST", "/v1/runs", body.p, e);
		rc = made ? 0 : -1;
	}
	buf_fini(&body);
	if (rc == 0 && cli_flag(cli, "detach"))
		rc = print_made(cli, made);
	else if (rc == 0)
		rc = run_foreground(cli, json_text(made, "id", ""), e);
	cJSON_Delete(made);
	return rc;
}

static const struct option_spec options[] = {
	FLAG('d', "detach", "print the id of the run and return at once"),
	FLAG('p', "print", "print only the final answer"),
	OPT_FOLLOW("print every event of the run with its content"),
	FLAG('w', "wait", "the same as --print"),
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
	.about = "The answer of the agent is printed as it is written: its "
		 "messages, or the output of its command. Tool calls and notes "
		 "go to standard error. If standard output is not a terminal, "
		 "or with --print, only the final answer is printed, when the "
		 "run has ended. With --json, every event is printed, followed "
		 "by the run; with --json and --print, only the run.\n"
		 "\n"
		 "On a terminal, the command asks about approvals, and Ctrl-C "
		 "cancels the run. A second Ctrl-C leaves it running in the "
		 "background. If a run makes no progress, the command states "
		 "the reason.\n"
		 "\n"
		 "The exit status is 0 if the run succeeded, 1 if it failed, "
		 "and 75 if it was cancelled or timed out.\n"
		 "\n"
		 "Examples:\n"
		 "  skep run ada 'name three primes'\n"
		 "  skep run ada 'what is in this picture?' --attach cat.png\n"
		 "  id=$(skep run ada 'write the report' --detach)",
	.needs = NEEDS_SUPERVISOR,
	.arguments = ARGUMENTS(
		{"PROMPT", "task for the agent, UTF-8 text of at most 1 MiB; "
			   "'-' reads standard input"}),
	.options = options,
	.run = run_agent,
};
