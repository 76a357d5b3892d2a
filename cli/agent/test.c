#include "cli/agent/acp_preset.h"
#include "cli/agent/agent_edit.h"
#include "cli/remote.h"
#include "lib/base/text.h"
#include "lib/os/file.h"
#include "lib/os/program_path.h"
#include "lib/sandbox/spec.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TIMEOUT_MS 180000

#define TEST_STEP(F, S) F(S, text, step) F(S, text, result) F(S, text, detail)
SHAPE_DECLARE(agent_test_step, TEST_STEP);
SHAPE_DEFINE(agent_test_step, TEST_STEP);

struct trial {
	pid_t pid;
	int in, out;
	int64_t timeout_ms;
	bool prompt; /* send one to the model */
};

/* The program that has the driver is beside skep. */
static const char *program(struct cli *cli, const char *driver)
{
	struct program_path path = program_path(strcmp(driver, "chat") == 0
							? "skep-worker-chat"
							: "skep-worker");

	return arena_text(&cli->arena, path.text);
}

static int start_trial(struct cli *cli, const char *driver, struct trial *t,
		       struct err *e)
{
	const char *path = program(cli, driver);
	const char *ms = arena_printf(&cli->arena, "%lld",
				      (long long)t->timeout_ms);
	int in[2], out[2];

	if (pipe(in) || pipe(out))
		return err_errno_set(e, "pipe");
	t->pid = fork();
	if (t->pid == 0) {
		if (dup2(in[0], 0) == 0 && dup2(out[1], 1) == 1) {
			close(in[1]);
			close(out[0]);
			execl(path, path, "--try", ms, (char *)NULL);
		}
		dprintf(2, "skep: cannot start %s: %s\n", path,
			strerror(errno));
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	t->in = in[1];
	t->out = out[0];
	return t->pid < 0 ? err_errno_set(e, "fork") : 0;
}

/* Prints a line of the report at once. */
static int show_step(struct cli *cli, struct table *t, const char *line,
		     struct err *e)
{
	cJSON *v = json_parse_object("report", line, strlen(line), e);
	struct agent_test_step row = {0};

	if (!v)
		return -1;
	remote_read(v, &agent_test_step_shape, &row);
	row.step = arena_text(&cli->arena, row.step);
	row.result = arena_text(&cli->arena, row.result);
	row.detail = arena_text(&cli->arena, row.detail);
	table_add(t, &row);
	cJSON_Delete(v);
	return 0;
}

static int print_trial(struct cli *cli, struct trial *t, struct err *e)
{
	struct table *table = table_new(&cli->out, &agent_test_step_shape,
					"step result detail");
	FILE *f = fdopen(t->out, "r");
	char *line = NULL;
	size_t room = 0;
	int rc = f ? 0 : err_errno_set(e, "skep-worker");

	while (rc == 0 && getline(&line, &room, f) > 0)
		rc = show_step(cli, table, line, e);
	table_end(table);
	free(line);
	if (f)
		(void)fclose(f);
	return rc;
}

static int check_trial_status(const struct agent_row *row, const char *preset,
			      int status, struct err *e)
{
	const char *needs = acp_preset_needs(preset);

	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	return err_set(e, ERR_FAILED, "agent '%s' failed the test%s%s",
		       row->name, needs ? "; it needs " : "",
		       needs ? needs : "");
}

/* The input of the test: see worker/driver/acp/probe.h. The version of node
 * matters only for the command of the preset. */
static void add_input(struct cli *cli, const struct agent_row *row,
		      const cJSON *spec, const char *preset, bool prompt,
		      struct buf *b)
{
	const cJSON *config = cJSON_GetObjectItemCaseSensitive(spec, "config");

	json_begin_object(b);
	json_put_text(b, "driver", row->driver);
	json_put_text(b, "model", row->model);
	if (config)
		json_put(b, "config", config);
	else
		json_put_raw(b, "config", "{}");
	json_key(b, "sandbox");
	sandbox_spec_copy(spec, b);
	json_put_text(b, "home", cli->home.root);
	json_put_int(b, "node", acp_preset_node(preset, config));
	json_put_bool(b, "prompt", prompt);
	json_end_object(b);
}

int agent_try(struct cli *cli, const struct agent_row *row,
	      const struct agent_trial *how, struct err *e)
{
	cJSON *spec = json_parse_object("definition", row->spec,
					strlen(row->spec), e);
	struct buf input = BUF_MAX(AGENT_TEXT_MAX);
	const char *preset = arena_text(&cli->arena,
					json_text(spec, "preset", NULL));
	struct trial t = {.in = -1,
			  .out = -1,
			  .timeout_ms = how->timeout_ms ? how->timeout_ms
							: TIMEOUT_MS,
			  .prompt = how->prompt};
	int status = 0, rc = spec ? 0 : -1;

	(void)signal(SIGPIPE, SIG_IGN);
	add_input(cli, row, spec, preset, t.prompt, &input);
	cJSON_Delete(spec);
	if (rc == 0)
		rc = start_trial(cli, row->driver, &t, e);
	if (rc == 0) {
		rc = file_write_fd(t.in, "skep-worker", input.p, input.n, e);
		close(t.in);
		if (print_trial(cli, &t, e))
			rc = -1;
		if (waitpid(t.pid, &status, 0) < 0 && rc == 0)
			rc = err_errno_set(e, "skep-worker");
	}
	buf_fini(&input);
	return rc ? -1 : check_trial_status(row, preset, status, e);
}

static int agent_test(struct cli *cli, struct err *e)
{
	struct agent_trial how = {.timeout_ms = cli_number(cli, "timeout", 0),
				  .prompt = !cli_flag(cli, "no-prompt")};
	struct agent_row row;

	if (agents_get(cli->control, cli_arg(cli, 0), &row, &cli->arena, e))
		return -1;
	return agent_try(cli, &row, &how, e);
}

const struct command cmd_agent_test = {
	.name = "agent test",
	.args = "AGENT",
	.help = "check that an agent can run",
	.about = "What is tested depends on the driver:\n"
		 "\n"
		 "acp: the agent is started in an empty directory and in the "
		 "sandbox of its runs. It is asked to write a file and to run "
		 "a command, and the results are checked. This sends one "
		 "prompt to the model unless --no-prompt is given.\n"
		 "\n"
		 "exec: the program is searched in the sandbox, and a shell "
		 "text is parsed. The command is not executed.\n"
		 "\n"
		 "chat: the settings and the key are read, and a connection "
		 "to the endpoint is made. No prompt is sent.\n"
		 "\n"
		 "script: the steps are parsed.\n"
		 "\n"
		 "If the test fails, the error names the missing requirement, "
		 "such as the program, the version of node, or a login.",
	.needs = NEEDS_CONTROL_READ,
	.options = OPTIONS(
		OPTION(MILLIS, 't', "timeout", "TIME",
		       "fail after this time (default 3m)"),
		FLAG(0, "no-prompt",
		     "start the agent and open a session, but do not send "
		     "a prompt")),
	.run = agent_test,
};
