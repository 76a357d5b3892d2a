#include "cli/remote.h"
#include "cli/try/try_matrix.h"
#include "cli/try/try_view.h"
#include "schema/control/run.h"

#include <string.h>

#define BODY_MAX (64u << 20)

/* The prompt of the command line, in the command's memory; NULL without one. */
static int read_prompt(struct cli *cli, const char **out, struct err *e)
{
	struct buf b = BUF_MAX(RUN_PROMPT_MAX);
	const char *word = cli_arg(cli, 1);
	int rc = 0;

	*out = word;
	if (word && !strcmp(word, "-")) {
		rc = cli_read_text("-", "the prompt", &b, e);
		*out = arena_text(&cli->arena, b.p);
	}
	buf_fini(&b);
	return rc;
}

/* "a,b,c" as a JSON array, or NULL. */
static cJSON *split_names(struct cli *cli, const char *text)
{
	cJSON *list = text ? cJSON_CreateArray() : NULL;

	for (; text && *text; text += *text == ',') {
		size_t n = strcspn(text, ",");
		const char *name = arena_textn(&cli->arena, text, n);

		cJSON_AddItemToArray(list, cJSON_CreateString(name));
		text += n;
	}
	return list;
}

static int make_body(struct cli *cli, struct buf *b, struct err *e)
{
	const char *path = cli_option(cli, "matrix");
	struct try_matrix m = {.agent = cli_arg(cli, 0)};
	int rc = read_prompt(cli, &m.prompt, e);

	if (rc == 0 && path)
		rc = try_matrix_read(&m, path, e);
	if (rc == 0 && cli_option(cli, "agents")) {
		cJSON_Delete(m.agents);
		m.agents = split_names(cli, cli_option(cli, "agents"));
	}
	if (cli_option(cli, "runs"))
		m.runs = cli_number(cli, "runs", 1);
	if (cli_option(cli, "seed"))
		m.seed = cli_number(cli, "seed", 1);
	if (cli_option(cli, "from"))
		m.from = cli_option(cli, "from");
	if (cli_option(cli, "check"))
		m.check = cli_option(cli, "check");
	m.keep = cli_flag(cli, "keep");
	if (rc == 0)
		rc = try_matrix_write(&m, b, e);
	try_matrix_fini(&m);
	return rc ? -1 : buf_ok(b, "the request", e);
}

/* The table of the end stays on the screen. */
static int watch(struct cli *cli, const char *id, struct err *e)
{
	struct experiment_row row;

	if (try_wait(cli, id, "preparing|running", true, &row, e))
		return -1;
	if (!strcmp(row.state, "failed"))
		return try_failed(&row, e);
	if (try_print(cli, &row, e) || try_print_failures(cli, &row, e))
		return -1;
	output_note(&cli->out, " ");
	output_note(&cli->out,
		    "'skep try diff %s TRIAL' shows the changes of a trial, "
		    "'skep try pick %s TRIAL' merges them into %s:%s",
		    id, id, row.agent, row.source);
	return 0;
}

static int try_start(struct cli *cli, struct err *e)
{
	struct buf body = BUF_MAX(BODY_MAX);
	const char *id = NULL;
	cJSON *made = NULL;
	int rc = make_body(cli, &body, e);

	if (rc == 0) {
		made = remote_call(cli, "POST", "/v1/experiments", body.p, e);
		rc = made ? 0 : -1;
	}
	if (rc == 0)
		id = arena_text(&cli->arena, json_text(made, "id", ""));
	if (rc == 0 && cli_flag(cli, "detach") && cli->out.json) {
		buf_clear(&body);
		json_add(&body, made);
		output_json(&cli->out, body.p);
	} else if (rc == 0 && cli_flag(cli, "detach")) {
		output_note(&cli->out, "%s", id);
	} else if (rc == 0) {
		rc = watch(cli, id, e);
	}
	cJSON_Delete(made);
	buf_fini(&body);
	return rc;
}

const struct command cmd_try_start = {
	.name = "try start",
	.args = "AGENT [PROMPT]",
	.is_default = true,
	.help = "start runs from one starting point, each in its own fork",
	.about = "skep takes a snapshot of the namespace, and each run works "
		 "in a fork of it. skepd carries the experiment out: it "
		 "continues if the terminal is closed or skepd restarts. The "
		 "command shows the trials until all are done. The verb start "
		 "may be omitted.\n"
		 "\n"
		 "The n-th run of each variant has the same seed, which "
		 "commands find in SKEP_SEED.\n"
		 "\n"
		 "A matrix is a JSON object with lists of agents, prompts and "
		 "settings; each combination is a variant. A setting has a "
		 "name and a config, which overrides members of the driver "
		 "configuration of the agent. The object may also contain "
		 "runs, seed, from and check; options take precedence.\n"
		 "\n"
		 "Examples:\n"
		 "  skep try ada 'fix the failing test' --runs 8 --check 'make "
		 "test'\n"
		 "  skep try ada 'fix the failing test' --agents ada,bob "
		 "--runs 5\n"
		 "  skep try ada --matrix matrix.json",
	.needs = NEEDS_SUPERVISOR,
	.arguments = ARGUMENTS(
		{"AGENT", "agent whose namespace is the starting point"},
		{"PROMPT", "task for the agents, UTF-8 text of at most 1 MiB; "
			   "'-' reads standard input"}),
	.options = OPTIONS(
		OPTION(COUNT, 'n', "runs", "N",
		       "start N runs of each variant (default 1)"),
		OPTION(TEXT, 0, "agents", "NAMES",
		       "run these agents, a list such as ada,bob (default: "
		       "AGENT)"),
		OPTION(TEXT, 0, "from", "SOURCE",
		       "start from the namespace NAME[@SNAPSHOT] of AGENT "
		       "(default: main as it is now)"),
		OPTION(TEXT, 0, "check", "COMMAND",
		       "run this shell command in each fork after its run, in "
		       "the sandbox of the agent"),
		OPTION(FILE, 0, "matrix", "FILE",
		       "read agents, prompts and settings from FILE"),
		OPTION(INT, 0, "seed", "N",
		       "seed of the first run (default 1)"),
		FLAG(0, "keep", "keep all forks when a trial is picked"),
		FLAG('d', "detach", "print the id and return")),
	.run = try_start,
};
