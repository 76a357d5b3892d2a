/* Lines that start with '/'. */
#include "cli/chat/chat.h"

#include "cli/remote.h"
#include "lib/base/text.h"
#include "lib/os/program_path.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct chat_verb {
	const char *name; /* "/help" */
	const char *args; /* or NULL */
	const char *help;
	int (*run)(struct chat *c, const char *arg, struct err *e);
};

extern const struct chat_verb chat_verbs[];

/* Executes another command of skep, whose output goes to the terminal. */
static int run_skep(struct chat *c, const char *const words[], struct err *e)
{
	struct program_path path = program_path("skep");
	const char *argv[16] = {path.text, "--home", c->line.cli->home.root};
	int n = 3, status = 0;
	pid_t pid;

	for (int i = 0; words[i] && n < 15; i++)
		argv[n++] = words[i];
	(void)fflush(NULL);
	pid = fork();
	if (pid == 0) {
		execv(path.text, (char *const *)(uintptr_t)argv);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return err_errno_set(e, "cannot execute %s", path.text);
	return 0; /* the command has reported its own error */
}

static int need_run(const struct chat *c, struct err *e)
{
	return c->run[0] ? 0
			 : err_set(e, ERR_NOTFOUND,
				   "this chat has no run yet; send a message "
				   "first");
}

static int do_help(struct chat *c, const char *arg, struct err *e)
{
	(void)arg;
	(void)e;
	for (const struct chat_verb *v = chat_verbs; v->name; v++)
		output_note(&c->line.cli->out, "%-8s %-7s  %s", v->name,
			    v->args ? v->args : "", v->help);
	return 0;
}

static int do_cancel(struct chat *c, const char *arg, struct err *e)
{
	(void)arg;
	if (need_run(c, e))
		return -1;
	return run_skep(c, (const char *const[]){"cancel", c->run, NULL}, e);
}

static int do_retry(struct chat *c, const char *arg, struct err *e)
{
	struct cli *cli = c->line.cli;
	cJSON *made;
	int rc;

	(void)arg;
	if (need_run(c, e))
		return -1;
	made = remote_call(
		cli, "POST",
		arena_printf(&cli->arena, "/v1/runs/%s/retry", c->run), NULL,
		e);
	if (!made)
		return -1;
	rc = chat_follow(c, json_text(made, "id", ""), e);
	cJSON_Delete(made);
	return rc;
}

static int switch_session(struct chat *c, const char *session, struct err *e)
{
	struct chat_line none = {.id = {""}};
	bool mine;

	/* acknowledges the last message of this conversation */
	while (c->line.acked[0] &&
	       chat_client_receive(&c->line, 0, &none, &mine, e) > 0)
		;
	c->line.acked[0] = '\0';
	chat_client_close(&c->line);
	c->line.session = arena_text(&c->line.cli->arena, session);
	c->run[0] = '\0';
	return chat_client_open(&c->line, e);
}

static int do_fork(struct chat *c, const char *arg, struct err *e)
{
	struct cli *cli = c->line.cli;
	const char *name = *arg ? arg
				: arena_printf(&cli->arena, "%s/%.8s",
					       c->line.session,
					       id_new(ID_SESSION).text + 10);
	const char *words[] = {"session", "fork",    c->line.session,
			       name,      "--agent", c->line.agent,
			       NULL};

	if (run_skep(c, words, e))
		return -1;
	return switch_session(c, name, e);
}

static int do_session(struct chat *c, const char *arg, struct err *e)
{
	if (*arg)
		return switch_session(c, arg, e);
	output_note(&c->line.cli->out, "session %s of agent %s",
		    c->line.session, c->line.agent);
	return 0;
}

static int do_files(struct chat *c, const char *arg, struct err *e)
{
	(void)arg;
	if (need_run(c, e))
		return -1;
	return run_skep(c, (const char *const[]){"diff", c->run, NULL}, e);
}

static int do_diff(struct chat *c, const char *arg, struct err *e)
{
	(void)arg;
	if (need_run(c, e))
		return -1;
	return run_skep(
		c, (const char *const[]){"diff", "--patch", c->run, NULL}, e);
}

static int do_model(struct chat *c, const char *arg, struct err *e)
{
	struct cli *cli = c->line.cli;
	cJSON *agent;

	if (*arg)
		return run_skep(c,
				(const char *const[]){"agent", "set",
						      c->line.agent, "--model",
						      arg, NULL},
				e);
	agent = remote_call(
		cli, "GET",
		arena_printf(&cli->arena, "/v1/agents/%s", c->line.agent), NULL,
		e);
	if (!agent)
		return -1;
	output_note(&cli->out, "agent %s uses model %s", c->line.agent,
		    json_text(agent, "model", "(none)"));
	cJSON_Delete(agent);
	return 0;
}

static int do_quit(struct chat *c, const char *arg, struct err *e)
{
	(void)arg;
	(void)e;
	c->quit = true;
	return 0;
}

const struct chat_verb chat_verbs[] = {
	{"/help", NULL, "list these commands", do_help},
	{"/cancel", NULL, "cancel the last run", do_cancel},
	{"/retry", NULL, "run the last message again", do_retry},
	{"/fork", "[NAME]", "continue in a fork of this session", do_fork},
	{"/session", "[NAME]", "show the session, or continue another one",
	 do_session},
	{"/files", NULL, "list the files that the last run changed", do_files},
	{"/diff", NULL, "show what the last run changed", do_diff},
	{"/model", "[NAME]", "show the model of the agent, or set it",
	 do_model},
	{"/quit", NULL, "end the chat", do_quit},
	{NULL, NULL, NULL, NULL},
};

int chat_command(struct chat *c, const char *line, struct err *e)
{
	size_t n = strcspn(line, " ");
	const char *arg = line + n + strspn(line + n, " ");

	for (const struct chat_verb *v = chat_verbs; v->name; v++)
		if (strlen(v->name) == n && !strncmp(v->name, line, n))
			return v->run(c, arg, e);
	return err_set(e, ERR_USAGE,
		       "unknown command '%s'; /help lists the commands",
		       quotedn(line, n).text);
}
