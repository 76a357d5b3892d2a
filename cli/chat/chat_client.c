#include "cli/chat/chat_client.h"

#include "cli/channel/channel_cli.h"
#include "lib/base/clock.h"
#include "lib/base/hash.h"
#include "lib/base/text.h"
#include "schema/control/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define SLOTS 64
#define AWAY_MAX \
	INT64_C(120000) /* ms to wait for a supervisor that is
				  * restarting */
#define AWAY_US 200000

/* --- a conversation of our own ---------------------------------------- */

/* A name in the abstract namespace is released when the process ends in any
 * way. */
static int take_name(const struct chat_client *t, const char *peer)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char hash[HASH_HEX];
	const char *text = arena_printf(&t->cli->arena, "%s/%s/%s",
					t->cli->home.root, t->channel, peer);
	int n;

	hash_of(text, strlen(text), hash);
	n = snprintf(name.sun_path + 1, sizeof name.sun_path - 1,
		     "skep-chat-%.32s", hash);
	if (fd >= 0 && bind(fd, (struct sockaddr *)&name,
			    (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
					1 + (size_t)n)) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

static int take_slot(struct chat_client *t, struct err *e)
{
	const char *base = arena_printf(&t->cli->arena, "%s@%s/%s", t->sender,
					t->agent, t->session);

	t->slot = -1;
	for (int i = 0; i < SLOTS && t->slot < 0; i++) {
		t->peer = i == 0 ? base
				 : arena_printf(&t->cli->arena, "%s#%d", base,
						i + 1);
		t->slot = take_name(t, t->peer);
	}
	if (t->slot < 0)
		return err_set(e, ERR_BUSY,
			       "the session has %d open chats already; use "
			       "--session for another session",
			       SLOTS);
	return 0;
}

static int check_channel(const struct chat_client *t, struct err *e)
{
	struct channel_row row;

	if (channels_get(t->cli->control, t->channel, &row, &t->cli->arena, e))
		return e->code != ERR_NOTFOUND
			       ? -1
			       : err_set(e, ERR_NOTFOUND,
					 "there is no channel '%s'; 'skep "
					 "channel add "
					 "%s pull' creates it",
					 t->channel, t->channel);
	if (strcmp(row.kind, "pull") != 0)
		return err_set(e, ERR_USAGE,
			       "channel '%s' has the kind %s; a chat needs "
			       "the kind pull",
			       t->channel, row.kind);
	if (!row.is_enabled)
		return err_set(e, ERR_CONFLICT,
			       "channel '%s' is disabled; 'skep channel "
			       "enable %s' enables it",
			       t->channel, t->channel);
	return 0;
}

int chat_client_open(struct chat_client *t, struct err *e)
{
	const char *path = arena_printf(&t->cli->arena, "/v1/agents/%s",
					t->agent);
	cJSON *agent = remote_call(t->cli, "GET", path, NULL, e);

	if (!agent)
		return -1;
	cJSON_Delete(agent);
	if (text_check_key("session", t->session, 256, e) ||
	    check_channel(t, e))
		return -1;
	return take_slot(t, e);
}

void chat_client_close(struct chat_client *t)
{
	if (t->slot >= 0)
		close(t->slot);
}

/* --- requests, also across a restart
 * ------------------------------------------ */

static int request_with_retry(struct chat_client *t, const char *method,
			      const char *path, const char *body,
			      struct buf *answer, struct err *e)
{
	int64_t end = clock_mono_ns() / 1000000 + AWAY_MAX;
	int status;

	for (;;) {
		buf_clear(answer);
		status = cli_call(t->cli, method, path, body, answer, e);
		if (status >= 0 || e->code != ERR_UNAVAILABLE ||
		    clock_mono_ns() / 1000000 > end)
			break;
		if (!t->is_away)
			fputs("skep: the supervisor is away, waiting for it\n",
			      stderr);
		t->is_away = true;
		usleep(AWAY_US);
	}
	if (status >= 0)
		t->is_away = false;
	return status;
}

int chat_client_send(struct chat_client *t, const char *text,
		     struct chat_line *sent, struct err *e)
{
	const char *path = arena_printf(&t->cli->arena,
					"/v1/channels/%s/messages", t->channel);
	cJSON *done = NULL;
	struct buf b = BUF_MAX(64u << 20), answer = BUF_MAX(1u << 20);
	int rc;

	sent->id = id_new(ID_MESSAGE);
	json_begin_object(&b);
	json_put_text(&b, "id", sent->id.text);
	json_put_text(&b, "sender", t->sender);
	json_put_text(&b, "conversation", t->peer);
	json_put_text(&b, "text", text);
	json_put_text(&b, "agent", t->agent);
	json_put_text(&b, "session", t->session);
	json_end_object(&b);
	rc = buf_ok(&b, "the line", e);
	if (rc == 0)
		rc = request_with_retry(t, "POST", path, b.p, &answer, e) < 0
			     ? -1
			     : 0;
	if (rc == 0)
		done = json_parse_object("the supervisor's answer", answer.p,
					 answer.n, e);
	buf_fini(&b);
	buf_fini(&answer);
	if (!done)
		return -1;
	snprintf(sent->inbound.text, sizeof sent->inbound.text, "%s",
		 json_text(done, "id", ""));
	cJSON_Delete(done);
	return 0;
}

/* --- receiving
 * ------------------------------------------------------------- */

static void print_message(struct chat_client *t, const cJSON *m,
			  const char *json)
{
	struct output *o = &t->cli->out;
	const char *text = json_text(m, "text", "");
	const cJSON *a;

	if (o->json) {
		output_json(o, json);
	} else {
		output_text(o, text, strlen(text));
		fputc('\n', o->to);
	}
	cJSON_ArrayForEach(a, cJSON_GetObjectItem(m, "attachments"))
	{
		output_note(o, "[attachment %s (%s, %lld bytes)]",
			    quoted(json_text(a, "name", "")).text,
			    quoted(json_text(a, "type", "")).text,
			    (long long)json_i64(a, "size", 0));
	}
}

int chat_client_receive(struct chat_client *t, int wait,
			const struct chat_line *sent, bool *mine, struct err *e)
{
	struct buf answer = BUF_MAX(256u << 20);
	const char *path = arena_printf(
		&t->cli->arena,
		"/v1/channels/%s/next?conversation=%s&wait=%d%s%s", t->channel,
		url_text(t->cli, t->peer), wait, t->acked[0] ? "&ack=" : "",
		t->acked);
	int status = request_with_retry(t, "GET", path, NULL, &answer, e),
	    rc = 0;
	cJSON *m = NULL;

	if (status >= 0)
		t->acked[0] = '\0';
	if (status >= 0 && status != 204) {
		m = json_parse_object("message", answer.p, answer.n, e);
		rc = m ? 1 : -1;
	}
	if (m) {
		if (!t->silent)
			print_message(t, m, answer.p);
		*mine = !strcmp(json_text(m, "reply_to", ""), sent->id.text);
		/* A message that could not be printed was not shown. */
		if (output_end(&t->cli->out, e) || ferror(t->cli->out.to))
			rc = -1;
		else
			snprintf(t->acked, sizeof t->acked, "%s",
				 json_text(m, "id", ""));
	}
	cJSON_Delete(m);
	buf_fini(&answer);
	return status < 0 ? -1 : rc;
}

int chat_client_pending(struct chat_client *t, const struct chat_line *sent,
			char run[ID_SIZE], struct err *e)
{
	struct inbound_get_in key = {sent->inbound.text};
	struct inbound_row row;
	struct run_row r;
	struct cli *cli = t->cli;
	int state;

	run[0] = '\0';
	if (sql_get(cli->control, Q_INBOUND_GET, &key, &row, &cli->arena, e) !=
	    1)
		return 1;
	if (!strcmp(row.state, "dead"))
		return err_set(e, ERR_FAILED,
			       "the message cannot be answered: %s",
			       row.detail);
	if (!row.run ||
	    sql_get(cli->control, Q_RUN_GET, &(struct run_get_in){row.run}, &r,
		    &cli->arena, e) != 1)
		return 1;
	snprintf(run, ID_SIZE, "%s", row.run);
	state = run_state_from(r.state);
	if (state < 0 || !run_state_is_over((enum run_state)state))
		return 1;
	if (state == RUN_SUCCEEDED)
		return 0;
	return err_set(e, ERR_FAILED, "run %s %s: %s", r.id, r.state,
		       r.detail ? r.detail : r.reason);
}
