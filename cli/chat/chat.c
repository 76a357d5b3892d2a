#include "cli/channel/channel_cli.h"
#include "cli/chat/chat_client.h"

#include <errno.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WAIT_MS   500
#define MISSED_MS 100

struct chat {
	struct chat_client line;
	bool terminal; /* interactive: report a failure and continue */
};

/* --- Ctrl-C stops the answer, not the chat ------------------------------ */

static volatile sig_atomic_t interrupted;

static void on_interrupt(int sig)
{
	(void)sig;
	interrupted = 1;
}

static void catch_interrupts(const struct chat *c, bool on)
{
	struct sigaction sa = {.sa_handler = on ? on_interrupt : SIG_DFL};

	interrupted = 0;
	if (c->terminal)
		sigaction(SIGINT, &sa, NULL);
}

static int cancel(struct chat *c, const char *run, struct err *e)
{
	struct cli *cli = c->line.cli;
	const char *path = arena_printf(&cli->arena, "/v1/runs/%s/cancel", run);

	interrupted = 0;
	if (!run[0])
		return 0;
	output_note(&cli->out, "(stopping the run)");
	return cli_call(cli, "POST", path, "{}", NULL, e) < 0 ? -1 : 0;
}

/* --- one line and its answer ------------------------------------------ */

static int await(struct chat *c, const struct chat_line *sent, struct err *e)
{
	char run[ID_SIZE] = "";
	bool mine = false;
	int more = 1, got;

	while (!mine) {
		got = chat_client_receive(&c->line, WAIT_MS, sent, &mine, e);
		if (got < 0)
			return -1;
		if (got > 0)
			continue;
		if (more == 0) {
			output_note(&c->line.cli->out, "(no answer)");
			return 0;
		}
		more = chat_client_pending(&c->line, sent, run, e);
		if (more < 0 || (interrupted && cancel(c, run, e)))
			return -1;
	}
	return 0;
}

static int exchange(struct chat *c, const char *text, size_t n, struct err *e)
{
	struct buf line = BUF_MAX(64u << 20);
	struct chat_line sent;
	int rc;

	buf_add(&line, text, n);
	rc = buf_ok(&line, "the line", e) || check_message_text(&line, e) ? -1
									  : 0;
	if (rc == 0)
		rc = chat_client_send(&c->line, line.p, &sent, e);
	catch_interrupts(c, true);
	if (rc == 0)
		rc = await(c, &sent, e);
	catch_interrupts(c, false);
	buf_fini(&line);
	return rc;
}

/* On a terminal a failed line is reported, and the chat continues. */
static int report_failed_line(const struct chat *c, int rc, const struct err *e)
{
	if (rc == 0 || !c->terminal || e->code == ERR_UNAVAILABLE ||
	    ferror(c->line.cli->out.to))
		return rc;
	fprintf(stderr, "skep: %s\n", e->text);
	return 0;
}

/* --- all of them ------------------------------------------------------ */

static void prompt(const struct chat *c)
{
	if (!c->terminal)
		return;
	fputs("> ", c->line.cli->out.to);
	fflush(c->line.cli->out.to);
}

static int converse(struct chat *c, struct err *e)
{
	struct chat_line none = {.id = {""}};
	char *line = NULL;
	size_t cap = 0;
	ssize_t n;
	int rc = 0, more = 1;
	bool mine;

	/* Shows missed messages; a new conversation has none. */
	if (c->terminal)
		while (chat_client_receive(&c->line, MISSED_MS, &none, &mine,
					   e) > 0)
			;
	while (rc == 0) {
		prompt(c);
		n = getline(&line, &cap, stdin);
		if (n < 0)
			break;
		if (n && line[n - 1] == '\n')
			line[--n] = '\0';
		if (n > 0)
			rc = report_failed_line(
				c, exchange(c, line, (size_t)n, e), e);
	}
	free(line);
	if (rc == 0 && c->terminal)
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
		.terminal = isatty(0) && !cli->out.json,
	};
	int rc;

	c.line.session = session ? session
				 : arena_printf(&cli->arena, "chat/%s",
						c.line.sender);
	rc = chat_client_open(&c.line, e) || converse(&c, e) ? -1 : 0;
	chat_client_close(&c.line);
	return rc;
}

const struct command cmd_chat = {
	.name = "chat",
	.args = "AGENT",
	.help = "chat with an agent in the terminal",
	.about = "Each line is sent as a message and starts a run in the "
		 "session; the answer is printed. Answers that could not be "
		 "printed are printed by the next chat. Ctrl-C stops an "
		 "answer; at the prompt it ends the chat.\n"
		 "\n"
		 "The chat waits for a supervisor that is being restarted. If "
		 "a message fails, the error is printed; the chat continues if "
		 "standard input is a terminal, and ends otherwise. With "
		 "--json, each answer is an object.",
	.needs = NEEDS_SUPERVISOR | NEEDS_CONTROL_READ,
	.options = OPTIONS(
		OPTION(TEXT, 's', "session", "SESSION",
		       "continue this session (default chat/USER)"),
		OPTION(NAME, 0, "channel", "CHANNEL",
		       "use this channel of kind pull (default local)")),
	.run = chat,
};
