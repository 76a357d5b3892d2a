#include "cli/chat/chat.h"

#include "cli/interactive.h"
#include "schema/control/agent.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MISSED_MS      100
#define LINE_MAX_BYTES (64u << 20)

/* On a terminal a failed line is reported, and the chat continues. */
static int report_failed_line(const struct chat *c, int rc, const struct err *e)
{
	if (rc == 0 || !c->terminal || e->code == ERR_UNAVAILABLE ||
	    ferror(c->line.cli->out.to))
		return rc;
	cli_report(c->line.cli, e);
	return 0;
}

/* --- reading lines -------------------------------------------------------- */

static long read_plain(struct chat *c, const char *prompt, struct buf *line)
{
	char *text = NULL;
	size_t cap = 0;
	ssize_t n;

	if (c->terminal) {
		fputs(prompt, c->line.cli->out.to);
		(void)fflush(c->line.cli->out.to);
	}
	n = getline(&text, &cap, stdin);
	if (n > 0 && text[n - 1] == '\n')
		n--;
	buf_clear(line);
	if (n > 0)
		buf_add(line, text, (size_t)n);
	free(text);
	return n;
}

static long read_line(struct chat *c, const char *prompt, struct buf *line)
{
	(void)fflush(c->line.cli->out.to);
	if (interactive && c->terminal)
		return interactive->read_line(c->line.cli, prompt, line);
	return read_plain(c, prompt, line);
}

/* --- the conversation ----------------------------------------------------- */

static int process_line(struct chat *c, const struct buf *line, struct err *e)
{
	if (line->n == 0)
		return 0;
	if (c->terminal && line->p[0] == '/')
		return chat_command(c, line->p, e);
	return chat_turn(c, line->p, line->n, e);
}

static void greet(const struct chat *c)
{
	if (c->terminal)
		output_note(&c->line.cli->out,
			    "session %s of agent %s; /help lists the commands",
			    c->line.session, c->line.agent);
}

static int converse(struct chat *c, struct err *e)
{
	struct buf line = BUF_MAX(LINE_MAX_BYTES);
	struct chat_line none = {.id = {""}};
	int rc = 0, more = 1;
	bool mine;

	greet(c);
	/* Shows missed messages; a new conversation has none. */
	if (c->terminal)
		while (chat_client_receive(&c->line, MISSED_MS, &none, &mine,
					   e) > 0)
			;
	while (rc == 0 && !c->quit && read_line(c, "> ", &line) >= 0)
		rc = report_failed_line(c, process_line(c, &line, e), e);
	buf_fini(&line);
	if (rc == 0 && c->terminal && !c->quit)
		fputc('\n', c->line.cli->out.to);
	/* Acknowledges the last message and shows later ones. */
	while (rc == 0 && c->line.acked[0] && more > 0)
		more = chat_client_receive(&c->line, 0, &none, &mine, e);
	return rc || more < 0 ? -1 : 0;
}

static const char *user_name(void)
{
	const struct passwd *pw = getpwuid(getuid());

	return pw ? pw->pw_name : "user";
}

static int chat(struct cli *cli, struct err *e)
{
	const char *session = cli_option(cli, "session");
	const char *channel = cli_option(cli, "channel");
	struct chat c = {
		.line = {.cli = cli,
			 .channel = channel ? channel : "local",
			 .sender = user_name(),
			 .agent = cli_arg(cli, 0),
			 .slot = -1},
		.approvals = {.cli = cli},
		.terminal = isatty(0) && !cli->out.json,
	};
	struct agent_row agent;
	int rc;

	interactive_exec(cli);
	if (!c.line.agent) {
		if (agents_get_default(cli->control, &agent, &cli->arena, e))
			return -1;
		c.line.agent = agent.name;
	}
	c.line.session = session ? session
				 : arena_printf(&cli->arena, "chat/%s",
						c.line.sender);
	rc = chat_client_open(&c.line, e) || converse(&c, e) ? -1 : 0;
	chat_client_close(&c.line);
	return rc;
}

const struct command cmd_chat = {
	.name = "chat",
	.args = "[AGENT]",
	.help = "chat with an agent in the terminal",
	.about = "Each line is sent as a message and starts a run in the "
		 "session. The answer is printed as it is written, and each "
		 "tool call as one line. If the agent asks for an approval, "
		 "answer y, n, a (always) or w (why). Lines can be edited, and "
		 "the arrow keys recall earlier ones. /help lists commands "
		 "such as /retry, /fork and /diff.\n"
		 "\n"
		 "The chat continues the session of the last one; --session "
		 "selects another. Answers that could not be printed are "
		 "printed by the next chat. Ctrl-C stops an answer; at the "
		 "prompt it ends the chat.\n"
		 "\n"
		 "The chat waits for a supervisor that is being restarted. If "
		 "a message fails, the error is printed; the chat continues if "
		 "standard input is a terminal, and ends otherwise. With "
		 "--json, each answer is an object.",
	.needs = NEEDS_SUPERVISOR | NEEDS_CONTROL_READ,
	.arguments = ARGUMENTS(
		{"AGENT", "name of the agent (default: the default agent)"}),
	.options = OPTIONS(
		OPTION(TEXT, 's', "session", "SESSION",
		       "continue this session (default chat/USER)"),
		OPTION(NAME, 0, "channel", "CHANNEL",
		       "use this channel of kind pull (default local)")),
	.run = chat,
};
