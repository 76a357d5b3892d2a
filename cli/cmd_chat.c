#include "cli/channel_cli.h"

#include "schema/runs.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * A conversation in the terminal, over a tty channel: lines go in as messages,
 * and what comes back is fetched, shown, and acknowledged by the next request.
 */
#define WAIT_MS 500

struct chat {
	struct cli *cli;
	const char *channel, *peer, *sender, *agent, *session;
	char acked[ID_SIZE]; /* shown, to be acknowledged */
	bool terminal;
};

static const char *user_name(void)
{
	const struct passwd *pw = getpwuid(getuid());

	return pw ? pw->pw_name : "somebody";
}

/* Posts a line; the id of the message. */
static int say(struct chat *c, const char *text, struct id *id, struct err *e)
{
	const char *path = arena_printf(&c->cli->arena,
					"/v1/channels/%s/messages", c->channel);
	cJSON *o = cJSON_CreateObject(), *done;
	struct buf b = BUF_MAX(16u << 20);

	cJSON_AddStringToObject(o, "sender", c->sender);
	cJSON_AddStringToObject(o, "conversation", c->peer);
	cJSON_AddStringToObject(o, "text", text);
	cJSON_AddStringToObject(o, "agent", c->agent);
	cJSON_AddStringToObject(o, "session", c->session);
	json_add(&b, o);
	cJSON_Delete(o);
	done = remote_call(c->cli, "POST", path, b.p, e);
	buf_fini(&b);
	if (!done)
		return -1;
	snprintf(id->text, sizeof id->text, "%s", json_text(done, "id", ""));
	cJSON_Delete(done);
	return 0;
}

/* The next message: 1 with it printed, 0 if there is none, -1. *mine: it
 * answers this one. */
static int hear(struct chat *c, int wait, const struct id *asked, bool *mine,
		struct err *e)
{
	struct buf answer = BUF_MAX(64u << 20);
	const char *path = arena_printf(
		&c->cli->arena,
		"/v1/channels/%s/next?conversation=%s&wait=%d%s%s", c->channel,
		url_text(c->cli, c->peer), wait, c->acked[0] ? "&ack=" : "",
		c->acked);
	int status = cli_ask(c->cli, "GET", path, NULL, &answer, e);
	cJSON *m;

	c->acked[0] = '\0';
	if (status < 0 || status == 204) {
		buf_fini(&answer);
		return status < 0 ? -1 : 0;
	}
	m = json_parse_object("message", answer.p, answer.n, e);
	if (m) {
		const char *text = json_text(m, "text", "");

		if (c->cli->out.json)
			output_json(&c->cli->out, answer.p);
		else
			output_text(&c->cli->out, text, strlen(text));
		if (!c->cli->out.json)
			fputc('\n', c->cli->out.to);
		fflush(c->cli->out.to);
		*mine = !strcmp(json_text(m, "reply_to", ""), asked->text);
		snprintf(c->acked, sizeof c->acked, "%s",
			 json_text(m, "id", ""));
	}
	cJSON_Delete(m);
	buf_fini(&answer);
	return m ? 1 : -1;
}

/* 1 while an answer may still come; 0: the run is over; -1 says how it failed. */
static int may_come(struct chat *c, const struct id *asked, struct err *e)
{
	struct inbound_get_in key = {asked->text};
	struct inbound_row row;
	struct run_row run;
	int state;

	if (sql_get(c->cli->control, Q_INBOUND_GET, &key, &row, &c->cli->arena,
		    e) != 1)
		return 1;
	if (!strcmp(row.state, "dead"))
		return err_set(e, ERR_FAILED, "nobody answers: %s", row.detail);
	if (!row.run ||
	    sql_get(c->cli->control, Q_RUN_GET, &(struct run_get_in){row.run},
		    &run, &c->cli->arena, e) != 1)
		return 1;
	state = run_state_from(run.state);
	if (state < 0 || !run_state_is_over((enum run_state)state))
		return 1;
	if (state == RUN_SUCCEEDED)
		return 0;
	return err_set(e, ERR_FAILED, "the run %s %s: %s", run.id, run.state,
		       run.detail ? run.detail : run.reason);
}

static int await(struct chat *c, const struct id *asked, struct err *e)
{
	bool mine = false;
	int more = 1, got;

	while (!mine) {
		got = hear(c, WAIT_MS, asked, &mine, e);
		if (got < 0)
			return -1;
		if (got > 0)
			continue;
		if (more == 0) {
			output_note(&c->cli->out, "(it says nothing)");
			return 0;
		}
		more = may_come(c, asked, e);
		if (more < 0)
			return -1;
	}
	return 0;
}

static int converse(struct chat *c, struct err *e)
{
	struct id asked = {""};
	char *line = NULL;
	size_t cap = 0;
	ssize_t n;
	int rc = 0;
	bool mine;

	while (rc == 0) {
		if (c->terminal) {
			fputs("> ", c->cli->out.to);
			fflush(c->cli->out.to);
		}
		n = getline(&line, &cap, stdin);
		if (n < 0)
			break;
		if (n && line[n - 1] == '\n')
			line[--n] = '\0';
		if (n == 0)
			continue;
		rc = say(c, line, &asked, e) || await(c, &asked, e) ? -1 : 0;
	}
	free(line);
	if (rc == 0 && c->acked[0])
		rc = hear(c, 0, &asked, &mine, e) < 0 ? -1 : 0;
	return rc;
}

static int chat(struct cli *cli, struct err *e)
{
	const char *session = cli_option(cli, "session");
	const char *channel = cli_option(cli, "channel");
	struct chat c = {
		.cli = cli,
		.channel = channel ? channel : "local",
		.sender = user_name(),
		.agent = cli_arg(cli, 0),
		.terminal = isatty(0) && !cli->out.json,
	};

	c.session = session ? session
			    : arena_printf(&cli->arena, "chat/%s", c.sender);
	c.peer = arena_printf(&cli->arena, "%s@%s/%s", c.sender, c.agent,
			      c.session);
	return converse(&c, e);
}

const struct command cmd_chat = {
	.name = "chat",
	.args = "NAME",
	.help = "talk with an agent, line by line, in the terminal",
	.about =
		"Each line is a message and a run of the agent's session; its "
		"answer is printed. What\ncould not be shown is shown the next "
		"time. Ends with the input. With --json each answer\nis an "
		"object, for programs.",
	.needs = NEEDS_SUPERVISOR | NEEDS_CONTROL_READ,
	.options =
		(const struct option_spec[]){
			{"session", "KEY", "go on in this session",
			 OPTION_TEXT},
			{"channel", "NAME", "a tty channel (local)",
			 OPTION_NAME},
			{NULL, NULL, NULL, OPTION_FLAG}},
	.run = chat,
};
