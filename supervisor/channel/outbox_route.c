/* Routes an outbox row: a delivery on a channel, or a message to another
 * session. */
#include "supervisor/channel/attachments.h"
#include "supervisor/channel/delivery_events.h"
#include "supervisor/channel/outbox.h"

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "schema/agent/transcript/event.h"
#include "schema/control/channel/attachment.h"
#include "schema/control/channel/mailbox.h"
#include "schema/control/channel/run_deliveries.h"
#include "supervisor/channel/lookup.h"

#include <stdio.h>
#include <string.h>

static const char conversation_deleted[] =
	"its conversation was deleted with its "
	"channel, so the receiver is unknown";

/* Opens the conversation with the peer, if the channel exists. */
static int open_peer(struct supervisor *s, const struct outbox_entry *r,
		     const char *peer, struct delivery_new *d, struct arena *a,
		     struct err *e)
{
	struct conversation_key t = {.channel = d->channel,
				     .peer = peer,
				     .sender = "",
				     .kind = "direct",
				     .agent = r->agent};
	struct conversation_row conv;
	struct channel_row row;
	int found = sql_get(s->db, Q_CHANNEL_GET,
			    &(struct channel_get_in){d->channel}, &row, a, e);

	if (found != 1)
		return found;
	if (conversation_open(s->db, &t, clock_now(), &conv, a, e))
		return -1;
	d->conversation = conv.id;
	return 0;
}

/* Finds the conversation of the target or of the session: 1, 0 if there is
 * none, or -1. */
static int find_conversation_row(struct supervisor *s,
				 const struct outbox_entry *r,
				 const cJSON *target,
				 struct conversation_row *conv, struct arena *a,
				 struct err *e)
{
	const char *peer = json_text(target, "conversation", NULL);
	struct conversation_route_in key = {r->agent, r->session};

	if (peer && id_is(ID_CONVERSATION, peer))
		return sql_get(s->db, Q_CONVERSATION_GET,
			       &(struct conversation_get_in){peer}, conv, a, e);
	if (json_text(target, "channel", NULL) || !r->session)
		return 0;
	return sql_get(s->db, Q_CONVERSATION_ROUTE, &key, conv, a, e);
}

/* Sets channel and conversation from the target; without one, the conversation
 * from which the session was last addressed, else the default channel. Returns
 * 0, 1 if the receiver is no longer known, or -1. */
static int find_destination(struct supervisor *s, const struct outbox_entry *r,
			    const cJSON *target, struct delivery_new *d,
			    struct arena *a, struct err *e)
{
	const char *channel = json_text(target, "channel", NULL);
	const char *peer = json_text(target, "conversation", NULL);
	struct conversation_row conv;
	struct channel_row row;
	int found = find_conversation_row(s, r, target, &conv, a, e);

	if (found == 1) {
		d->channel = conv.channel;
		d->conversation = conv.id;
		return 0;
	}
	if (found == 0 && peer && id_is(ID_CONVERSATION, peer)) {
		d->channel = channel ? channel : "none";
		/* so that it is not sent to another receiver */
		d->conversation = peer;
		return 1;
	}
	if (found == 0 && !channel)
		found = sql_get(s->db, Q_CHANNEL_GET_DEFAULT, NULL, &row, a, e);
	if (found < 0)
		return -1;
	d->channel = channel ? channel : found ? row.name : "none";
	return channel && peer ? open_peer(s, r, peer, d, a, e) : 0;
}

/* Makes the delivery a dead letter with this reason. */
static int dead_letter(struct supervisor *s, const char *id, const char *why,
		       struct err *e)
{
	struct delivery_row row;
	struct delivery_end d;
	struct arena a = {0};
	int rc = sql_get(s->db, Q_DELIVERY_GET, &(struct delivery_get_in){id},
			 &row, &a, e);

	if (rc == 1) {
		d = delivery_end_of(&row);
		d.event = DELIVERY_EV_EXPIRE;
		d.detail = why;
		rc = delivery_record(s->db, &d, clock_now(), e);
	}
	arena_fini(&a);
	return rc < 0 ? -1 : 0;
}

/* A delivery to a channel that does not exist becomes a dead letter, which can
 * be retried later. If the channel is disabled, it waits. */
static int dead_letter_if_no_channel(struct supervisor *s, const char *id,
				     const char *channel, struct err *e)
{
	struct channel_row known;
	struct arena a = {0};
	int rc = sql_get(s->db, Q_CHANNEL_GET,
			 &(struct channel_get_in){channel}, &known, &a, e);

	if (rc == 0)
		rc = dead_letter(
			s, id,
			arena_printf(&a, "there is no channel %s", channel), e);
	arena_fini(&a);
	return rc < 0 ? -1 : 0;
}

/* Stores the delivery with its attachments; an error about them is added to the
 * message. why_dead: it becomes a dead letter at once. */
static int put_delivery(struct supervisor *s, const struct channel *c,
			struct delivery_new *d, const char *why_dead,
			struct err *e)
{
	cJSON *body = json_parse("body", d->body, strlen(d->body), e);
	struct buf text = BUF_MAX(EVENT_BODY_MAX);
	int64_t now = clock_now();
	struct err why;
	struct id id;
	int rc;

	if (!body)
		return -1;
	if (channel_attach(s, c, body, &why)) {
		cJSON_DeleteItemFromObject(body, "attachments");
		cJSON_AddStringToObject(body, "attachments_refused", why.text);
	}
	json_add(&text, body);
	d->body = text.p;
	rc = delivery_add(s->db, d, now, &id, e);
	if (rc > 0)
		rc = attachments_use(s->db, id.text, body, e) ||
				     delivery_event_new(s, d, id.text, now,
							e) ||
				     (why_dead
					      ? dead_letter(s, id.text,
							    why_dead, e)
					      : !c && dead_letter_if_no_channel(
							      s, id.text,
							      d->channel, e))
			     ? -1
			     : 0;
	cJSON_Delete(body);
	buf_fini(&text);
	d->body = NULL;
	return rc;
}

static int add_delivery(struct supervisor *s, const struct outbox_entry *r,
			const cJSON *target, const char *source, struct err *e)
{
	struct delivery_new d = {
		.source_key = source,
		.agent = r->agent,
		.session = r->session,
		.reply_to = json_text(target, "reply_to", NULL),
		.body = r->entry.body};
	struct channel *c;
	struct arena a = {0};
	int rc = find_destination(s, r, target, &d, &a, e);
	const char *why = rc == 1 ? conversation_deleted : NULL;

	c = rc >= 0 ? channel_find(s, d.channel) : NULL;
	if (c)
		c->may_be_due = true;
	if (rc >= 0)
		rc = channel_fill(s, &d, &a, e);
	if (rc == 0)
		rc = put_delivery(s, c, &d, why, e);
	if (rc == 0 && d.conversation)
		rc = sql_exec(s->db, Q_CONVERSATION_TOUCH,
			      &(struct conversation_touch_in){
				      d.conversation, false, clock_now()},
			      e) < 0
			     ? -1
			     : 0;
	arena_fini(&a);
	return rc < 0 ? -1 : 0;
}

/* A message that cannot be sent to a session becomes a dead letter, so that
 * users see it. */
static int dead_letter_message(struct supervisor *s,
			       const struct outbox_entry *r, const char *source,
			       const char *why, struct err *e)
{
	struct delivery_new d = {.source_key = source,
				 .channel = "none",
				 .agent = r->agent,
				 .session = r->session,
				 .body = r->entry.body,
				 .max_age_ms = OPT_NONE};
	int64_t now = clock_now();
	struct id id;
	int made = delivery_add(s->db, &d, now, &id, e);

	log_warn(LT("msg", "message between sessions became a dead letter"),
		 LT("agent", r->agent), LT("why", why));
	if (made <= 0)
		return made;
	return delivery_event_new(s, &d, id.text, now, e) ||
			       dead_letter(s, id.text, why, e)
		       ? -1
		       : 0;
}

static void hint_mailbox(void *arg, const struct err *failed)
{
	if (!failed)
		send_hint(arg, &(struct hint){.kind = HINT_MAILBOX});
}

static int add_message(struct supervisor *s, const struct outbox_entry *r,
		       const cJSON *target, const char *source, struct err *e)
{
	cJSON *body = json_parse("body", r->entry.body, strlen(r->entry.body),
				 e);
	struct arena a = {0};
	struct message_new m = {
		.source_key = source,
		.sender = arena_printf(&a, "%s/%s", r->agent,
				       r->session ? r->session : ""),
		.agent = json_text(target, "agent", NULL),
		.session = json_text(target, "session", "main"),
		.room = json_text(target, "room", NULL),
		.body = json_text(body, "text", r->entry.body),
	};
	struct err why = {0};
	struct id id;
	int rc = -1;

	txn_try_begin(&s->txn);
	if (body &&
	    (m.room || !m.agent ||
	     supervisor_agent_check(s, m.agent, &why) == 0) &&
	    txn_begin(&s->txn, &why) == 0)
		rc = message_send(s->db, &m, &id, &why);
	rc = txn_try_end(&s->txn, rc, &why);
	if (rc >= 0)
		txn_on_commit(&s->txn, hint_mailbox, s);
	else if (body && (why.code == ERR_INVALID || why.code == ERR_NOTFOUND ||
			  why.code == ERR_USAGE || why.code == ERR_CONFLICT))
		rc = dead_letter_message(s, r, source, why.text, e);
	else if (body)
		*e = why;
	cJSON_Delete(body);
	arena_fini(&a);
	return rc < 0 ? -1 : 0;
}

int outbox_route(struct supervisor *s, const struct outbox_entry *r,
		 struct err *e)
{
	cJSON *target = json_parse_object("target", r->entry.target,
					  strlen(r->entry.target), e);
	char source[DELIVERY_SOURCE];
	bool between;
	int rc;

	if (!target) /* an invalid target of the agent: use the default */
		target = cJSON_CreateObject();
	delivery_source(source, r->agent, r->entry.id, r->entry.created_at);
	between = !cJSON_GetObjectItem(target, "channel") &&
		  (cJSON_GetObjectItem(target, "agent") ||
		   cJSON_GetObjectItem(target, "room"));
	rc = between ? add_message(s, r, target, source, e)
		     : add_delivery(s, r, target, source, e);
	cJSON_Delete(target);
	return rc;
}
