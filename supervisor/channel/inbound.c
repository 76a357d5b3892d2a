#include "supervisor/channel/inbound.h"
#include "supervisor/channel/attachments.h"

#include "lib/base/clock.h"
#include "lib/base/fault.h"
#include "lib/base/log.h"
#include "lib/base/text.h"
#include "schema/control/channel/attachment.h"
#include "schema/control/control.h"
#include "supervisor/channel/lookup.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

struct inbound_ctx {
	struct supervisor *sup;
	const struct inbound_message *message;
	struct channel *channel;
	struct conversation_row conversation;
	struct inbound_row row;
	struct id id;
	struct arena arena;
	bool attached; /* it has attachments */
	char run[ID_SIZE];
	char reason[32], detail[300];
};

/* --- the run of a message
 * -------------------------------------------------- */

static int add_attachments(struct inbound_ctx *t, struct buf *prompt,
			   struct err *e)
{
	struct home_path dir = home_path(&t->sup->home, HOME_MEDIA);
	int n = attachments_add_lines(t->sup->db, t->row.id, dir.text, prompt,
				      &t->arena, e);

	t->attached = n > 0;
	return n < 0 ? -1 : 0;
}

static int make_prompt(struct inbound_ctx *t, struct buf *prompt, struct err *e)
{
	cJSON *body = json_parse("body", t->row.body, strlen(t->row.body), e);
	int rc;

	if (!body)
		return -1;
	if (!strcmp(t->conversation.kind, "group"))
		buf_addf(prompt, "%s: ", t->row.sender);
	buf_adds(prompt, json_text(body, "text", ""));
	rc = add_attachments(t, prompt, e);
	cJSON_Delete(body);
	return rc ? -1 : buf_ok(prompt, "the message", e);
}

static const char *make_options(struct inbound_ctx *t)
{
	struct buf b = BUF_MAX(16384);
	const char *out;

	json_begin_object(&b);
	json_put_object(&b, "reply");
	json_put_text(&b, "channel", t->row.channel);
	json_put_text(&b, "conversation", t->conversation.id);
	json_put_text(&b, "reply_to", t->row.external_id);
	json_end_object(&b);
	json_put_text(&b, "media", t->attached ? t->row.id : NULL);
	json_end_object(&b);
	out = arena_text(&t->arena, b.p);
	buf_fini(&b);
	return out;
}

/* Finds the new run by its idempotency key, in the same transaction. */
static int find_run(struct inbound_ctx *t, struct err *e)
{
	struct run_by_key_in key = {t->conversation.agent, t->row.id};
	struct run_by_key_row row;
	int found = sql_get(t->sup->db, Q_RUN_BY_KEY, &key, &row, &t->arena, e);

	if (found == 1)
		snprintf(t->run, sizeof t->run, "%s", row.id);
	return found < 0 ? -1 : 0;
}

/* Submits the run. On -1 the message becomes a dead letter with the reason. */
static int submit(struct inbound_ctx *t, struct err *e)
{
	struct run_request req = supervisor_run_defaults(t->sup);
	struct buf prompt = BUF_MAX(RUN_PROMPT_MAX);
	int rc;

	if (!t->conversation.agent)
		return err_set(e, ERR_NOTFOUND,
			       "no agent is bound to the channel, and there "
			       "is no default agent");
	rc = make_prompt(t, &prompt, e);
	req.agent = t->conversation.agent;
	req.session = t->conversation.session;
	req.prompt = prompt.p;
	req.options = make_options(t);
	req.idem_key = t->row.id;
	req.by = arena_printf(&t->arena, "channel:%s", t->row.channel);
	if (rc == 0)
		rc = supervisor_submit_run(t->sup, &req, (struct completion){0},
					   e);
	buf_fini(&prompt);
	return rc ? -1 : find_run(t, e);
}

static void dead_letter(struct inbound_ctx *t, const struct err *why)
{
	snprintf(t->reason, sizeof t->reason, "%s", err_name(why->code));
	for (char *p = t->reason; *p; p++)
		*p = (char)tolower((unsigned char)*p);
	text_fit(t->detail, sizeof t->detail, why->text);
	t->row.state = "dead";
	t->row.reason = t->reason;
	t->row.detail = t->detail;
	log_warn(LT("msg", "inbound message became a dead letter"),
		 LT("id", t->row.id), LT("channel", t->row.channel),
		 LT("why", why->text));
}

/* The message is valid, so the sender has to retry. */
static bool is_storage_failure(const struct err *e)
{
	return e->code == ERR_IO || e->code == ERR_FULL ||
	       e->code == ERR_BUSY || e->code == ERR_CORRUPT ||
	       e->code == ERR_MOVED || e->code == ERR_READONLY ||
	       e->code == ERR_INTERNAL;
}

/* Starts a run, or makes the message a dead letter with the reason. */
static int process_message(struct inbound_ctx *t, struct err *e)
{
	struct err why;
	struct inbound_set_in set;
	int bad = 0;

	if (!strcmp(t->row.kind, "message")) {
		t->row.state = "queued";
		bad = submit(t, &why);
	}
	if (bad && is_storage_failure(&why)) {
		*e = why;
		return -1;
	}
	if (bad)
		dead_letter(t, &why);
	set = (struct inbound_set_in){
		.id = t->row.id,
		.state = t->row.state,
		.reason = t->row.reason,
		.detail = t->row.detail,
		.run = t->run[0] ? t->run : NULL,
		.conversation = t->row.conversation,
	};
	return sql_exec(t->sup->db, Q_INBOUND_SET, &set, e) < 0 ? -1 : 0;
}

static int log_inbound_event(struct inbound_ctx *t, struct err *e)
{
	struct host_event_inbound_in event = {
		.at = clock_now(),
		.id = t->row.id,
		.agent = t->conversation.agent,
		.channel = t->row.channel,
		.state = t->row.state,
		.run = t->run[0] ? t->run : NULL,
		.reason = t->row.reason,
	};

	t->sup->host_changed = true;
	return sql_exec(t->sup->db, Q_HOST_EVENT_INBOUND, &event, e) < 0 ? -1
									 : 0;
}

/* --- new messages
 * ------------------------------------------------------------ */

/* A message may name the agent and the session that answer it. */
static int rebind(struct inbound_ctx *t, struct err *e)
{
	const struct inbound_message *m = t->message;
	struct conversation_row *c = &t->conversation;
	struct conversation_bind_in bind = {
		c->id, m->agent ? m->agent : c->agent,
		m->session ? m->session : c->session};

	if (!bind.agent || (c->agent && !strcmp(c->agent, bind.agent) &&
			    !strcmp(c->session, bind.session)))
		return 0;
	c->agent = bind.agent;
	c->session = bind.session;
	return sql_exec(t->sup->db, Q_CONVERSATION_BIND, &bind, e) < 0 ? -1 : 0;
}

static int open_conversation(struct inbound_ctx *t, struct err *e)
{
	const struct inbound_message *m = t->message;
	struct conversation_key conversation = {
		.channel = t->row.channel,
		.peer = m->peer,
		.sender = m->sender,
		.kind = m->kind,
		.title = m->title,
		.agent = m->agent ? m->agent : t->channel->config.agent,
	};
	struct conversation_touch_in touch = {.inbound = true,
					      .now = t->row.received_at};

	if (conversation_open(t->sup->db, &conversation, t->row.received_at,
			      &t->conversation, &t->arena, e) ||
	    rebind(t, e))
		return -1;
	touch.id = t->row.conversation = t->conversation.id;
	/* Events and requests do not count as messages of the conversation. */
	if (strcmp(m->type, "message") != 0)
		return 0;
	return sql_exec(t->sup->db, Q_CONVERSATION_TOUCH, &touch, e) < 0 ? -1
									 : 0;
}

/* Stores the attachments as rows, then the body without them. */
static int store(struct inbound_ctx *t, struct err *e)
{
	cJSON *body = t->message->body;
	struct buf text = BUF_MAX(16u << 20);
	int rc = channel_attach(t->sup, t->channel, body, e);

	json_add(&text, body);
	if (rc == 0)
		rc = buf_ok(&text, "the message", e);
	t->row.body = arena_text(&t->arena, text.p);
	buf_fini(&text);
	if (rc || open_conversation(t, e) ||
	    sql_exec(t->sup->db, Q_INBOUND_ADD, &t->row, e) < 0 ||
	    attachments_use(t->sup->db, t->row.id, body, e))
		return -1;
	return sql_exec(t->sup->db, Q_CHANNEL_COUNT,
			&(struct channel_count_in){t->row.channel, 0, 0, 1},
			e) < 0
		       ? -1
		       : 0;
}

static int store_new(struct inbound_ctx *t, struct err *e)
{
	const struct inbound_message *m = t->message;

	t->id = id_new(ID_INBOUND);
	t->row.id = t->id.text;
	t->row.sender = m->sender;
	t->row.kind = m->type;
	t->row.state = "recorded";
	t->row.received_at = clock_now();
	if (!t->row.external_id)
		t->row.external_id = t->row.id;
	if (store(t, e) || process_message(t, e))
		return -1;
	if (!strcmp(m->type, "request") &&
	    device_rpc_answer(t->sup, t->row.channel, t->conversation.id, m, e))
		return -1;
	return log_inbound_event(t, e) || fault_point(FAULT_inbound_storing, e)
		       ? -1
		       : 0;
}

static void stored(void *arg, const struct err *failed)
{
	struct err e;

	(void)arg;
	if (!failed)
		(void)fault_point(FAULT_inbound_stored, &e);
}

/* The error must be retryable, so that the sender does not drop the message. */
static int not_accepting(struct supervisor *s, const char *channel,
			 struct err *e)
{
	(void)channel_closed(s, channel, e);
	if (e->code == ERR_CONFLICT)
		e->code = ERR_BUSY;
	return -1;
}

static int accept_message(struct supervisor *s, const char *channel,
			  const struct inbound_message *m,
			  struct completion done, struct err *e)
{
	struct inbound_ctx t = {.sup = s, .message = m};
	struct inbound_row known;
	int found = 0;

	if (s->stopping)
		return err_set(e, ERR_UNAVAILABLE, "skepd is shutting down");
	t.channel = channel_accepting(s, channel);
	if (!t.channel)
		return not_accepting(s, channel, e);
	t.row.channel = t.channel->name;
	t.row.external_id = m->external_id;
	if (txn_begin(&s->txn, e))
		return -1;
	if (m->external_id)
		found = sql_get(
			s->db, Q_INBOUND_FIND,
			&(struct inbound_find_in){channel, m->external_id},
			&known, &t.arena, e);
	if (found == 0)
		found = store_new(&t, e) ? -1 : 0;
	if (found >= 0) {
		txn_on_commit(&s->txn, stored, NULL);
		complete_later(s, done, found ? known.id : t.row.id, found == 0,
			       found ? known.state : t.row.state);
	}
	arena_fini(&t.arena);
	return found < 0 ? -1 : 0;
}

int inbound_accept(struct supervisor *s, const char *channel,
		   const struct inbound_message *m, struct completion done,
		   struct err *e)
{
	txn_try_begin(&s->txn);
	return txn_try_end(&s->txn, accept_message(s, channel, m, done, e), e);
}

/* --- dead letters
 * ------------------------------------------------------------ */

static int read_dead(struct inbound_ctx *t, const char *id, struct err *e)
{
	int found = sql_get(t->sup->db, Q_INBOUND_GET,
			    &(struct inbound_get_in){id}, &t->row, &t->arena,
			    e);

	if (found == 0)
		return err_set(e, ERR_NOTFOUND,
			       "there is no inbound message %s",
			       quoted(id).text);
	if (found == 1 && strcmp(t->row.state, "dead") != 0)
		return err_set(e, ERR_CONFLICT,
			       "inbound message %s is %s, not a dead letter",
			       t->row.id, t->row.state);
	return found < 0 ? -1 : 0;
}

/* Finds the conversation and binds it again: its agent may have been added
 * meanwhile. */
static int find_conversation(struct inbound_ctx *t, struct err *e)
{
	struct conversation_get_in key = {t->row.conversation};
	struct conversation_row *c = &t->conversation;
	struct conversation_key conversation;
	int found = t->row.conversation
			    ? sql_get(t->sup->db, Q_CONVERSATION_GET, &key, c,
				      &t->arena, e)
			    : 0;

	if (found == 0)
		return err_set(e, ERR_NOTFOUND, "its conversation was deleted");
	t->channel = found == 1 ? channel_accepting(t->sup, t->row.channel)
				: NULL;
	if (found == 1 && !t->channel)
		return channel_closed(t->sup, t->row.channel, e);
	if (found < 0)
		return -1;
	conversation = (struct conversation_key){
		.channel = t->row.channel,
		.peer = c->peer,
		.sender = t->row.sender,
		.kind = c->kind,
		.title = c->title,
		.agent = t->channel->config.agent,
	};
	if (conversation_open(t->sup->db, &conversation, clock_now(), c,
			      &t->arena, e))
		return -1;
	t->row.conversation = c->id;
	return 0;
}

static int retry_message(struct supervisor *s, const char *id, const char *by,
			 struct completion done, struct err *e)
{
	struct inbound_ctx t = {.sup = s};
	int rc = txn_begin(&s->txn, e);

	if (rc == 0)
		rc = read_dead(&t, id, e) || find_conversation(&t, e);
	t.row.reason = t.row.detail = NULL;
	if (rc == 0)
		rc = process_message(&t, e) || log_inbound_event(&t, e) ||
		     control_audit(s->db, by, "inbound.retry", id, NULL, e);
	if (rc == 0)
		complete_later(s, done, id, !strcmp(t.row.state, "queued"),
			       t.row.detail ? t.row.detail : t.row.state);
	arena_fini(&t.arena);
	return rc ? -1 : 0;
}

int inbound_retry(struct supervisor *s, const char *id, const char *by,
		  struct completion done, struct err *e)
{
	txn_try_begin(&s->txn);
	return txn_try_end(&s->txn, retry_message(s, id, by, done, e), e);
}

static int discard_message(struct supervisor *s, const char *id, const char *by,
			   struct completion done, struct err *e)
{
	struct inbound_ctx t = {.sup = s};
	int rc = txn_begin(&s->txn, e);

	if (rc == 0)
		rc = read_dead(&t, id, e);
	t.row.state = "discarded";
	if (rc == 0)
		rc = sql_exec(s->db, Q_INBOUND_SET,
			      &(struct inbound_set_in){
				      .id = id,
				      .state = t.row.state,
				      .reason = t.row.reason,
				      .detail = t.row.detail,
			      },
			      e) < 0 ||
		     log_inbound_event(&t, e) ||
		     control_audit(s->db, by, "inbound.discard", id, NULL, e);
	if (rc == 0)
		complete_later(s, done, id, true, "discarded");
	arena_fini(&t.arena);
	return rc ? -1 : 0;
}

int inbound_discard(struct supervisor *s, const char *id, const char *by,
		    struct completion done, struct err *e)
{
	txn_try_begin(&s->txn);
	return txn_try_end(&s->txn, discard_message(s, id, by, done, e), e);
}
