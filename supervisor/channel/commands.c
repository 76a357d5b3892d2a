/* Commands on channels, bindings and deliveries. */
#include "supervisor/channel/commands.h"
#include "supervisor/channel/delivery_events.h"
#include "supervisor/channel/internal.h"
#include "supervisor/channel/lookup.h"

#include "lib/base/clock.h"
#include "lib/base/text.h"
#include "schema/control/agent.h"
#include "schema/control/channel/attachment.h"
#include "schema/control/channel/channel_delete.h"
#include "schema/control/control.h"

#include <stdio.h>
#include <string.h>

struct reload {
	struct supervisor *sup;
	const char *name;
};

static void reload(void *arg, const struct err *failed)
{
	const struct reload *r = arg;

	if (!failed && !r->sup->channels->closing)
		channel_reload(r->sup, r->name);
}

/* After the commit, applies the row to the channel, then calls `done`. */
static void reload_and_complete(struct supervisor *s, const char *name,
				struct completion done, bool really,
				const char *note)
{
	struct reload *r = txn_alloc(&s->txn, sizeof *r);

	*r = (struct reload){s, txn_text(&s->txn, name)};
	s->host_changed = true;
	txn_on_commit(&s->txn, reload, r);
	complete_later(s, done, name, really, note);
}

static int log_channel_event(struct supervisor *s, const char *name,
			     const char *what, struct err *e)
{
	struct host_event_channel_in in = {clock_now(), name, what, NULL};

	return sql_exec(s->db, Q_HOST_EVENT_CHANNEL, &in, e) < 0 ? -1 : 0;
}

static int put_channel(struct supervisor *s, const char *name,
		       const char *definition, const char *by,
		       struct completion done, struct err *e)
{
	cJSON *def = json_parse_object("channel", definition,
				       strlen(definition), e);
	int rc = def ? 0 : -1;

	if (rc == 0 &&
	    (txn_begin(&s->txn, e) || channels_put(s->db, name, def, by, e) ||
	     log_channel_event(s, name, "put", e)))
		rc = -1;
	cJSON_Delete(def);
	if (rc == 0)
		reload_and_complete(s, name, done, true, "stored");
	return rc;
}

int supervisor_channel_put(struct supervisor *s, const char *name,
			   const char *definition, const char *by,
			   struct completion done, struct err *e)
{
	txn_try_begin(&s->txn);
	return txn_try_end(&s->txn,
			   put_channel(s, name, definition, by, done, e), e);
}

static int set_default(struct supervisor *s, const char *name, struct err *e)
{
	if (sql_exec(s->db, Q_CHANNEL_CLEAR_DEFAULT, NULL, e) < 0)
		return -1;
	return sql_exec(s->db, Q_CHANNEL_SET_DEFAULT,
			&(struct channel_set_default_in){name}, e);
}

/* Enabling an enabled channel ends its restart delay. */
static bool wake_channel(struct supervisor *s, const char *name)
{
	struct channel *c = channel_find(s, name);

	return c && c->ops->wake && c->ops->wake(c);
}

static int switch_channel(struct supervisor *s, const char *name,
			  const char *verb, const char *by,
			  struct completion done, struct err *e)
{
	static const char verbs[] = "enable|disable|pause|resume|default";
	struct channel_switch_in in = {name, OPT_NONE, OPT_NONE, clock_now()};
	struct channel_row row;
	struct arena a = {0};
	int n;

	if (text_check_word("verb", verbs, verb, e) || txn_begin(&s->txn, e))
		return -1;
	n = channels_get(s->db, name, &row, &a, e) ||
	    channel_check_not_deleting(&row, e);
	arena_fini(&a);
	if (n)
		return -1;
	if (!strcmp(verb, "enable") || !strcmp(verb, "disable"))
		in.is_enabled = verb[0] == 'e';
	else
		in.is_paused = verb[0] == 'p';
	n = strcmp(verb, "default") ? sql_exec(s->db, Q_CHANNEL_SWITCH, &in, e)
				    : set_default(s, name, e);
	if (n > 0 && verb[0] == 'r' && row.held_until != OPT_NONE &&
	    sql_exec(s->db, Q_DELIVERY_HASTEN,
		     &(struct delivery_hasten_in){name, row.held_until, in.now},
		     e) < 0)
		n = -1;
	if (n < 0 || log_channel_event(s, name, verb, e) ||
	    control_audit(s->db, by, "channel.switch", name, NULL, e))
		return -1;
	if (n == 0 && !strcmp(verb, "enable") && wake_channel(s, name))
		reload_and_complete(s, name, done, true, "started");
	else
		reload_and_complete(s, name, done, n > 0,
				    n > 0 ? verb : "no change");
	return 0;
}

int supervisor_channel_switch(struct supervisor *s, const char *name,
			      const char *verb, const char *by,
			      struct completion done, struct err *e)
{
	txn_try_begin(&s->txn);
	return txn_try_end(&s->txn, switch_channel(s, name, verb, by, done, e),
			   e);
}

int channel_bind(struct supervisor *s, const struct binding_row *b,
		 const char *by, struct err *e)
{
	struct channel_row channel;
	struct agent_row agent;
	struct arena a = {0};
	int rc;

	if (text_check_name("agent", b->agent, e) ||
	    text_check_key("peer", b->peer, CHANNEL_KEY_MAX, e) ||
	    text_check_word("kind", "any|direct|group", b->kind, e) ||
	    text_check_word("session_per", "conversation|sender",
			    b->session_per, e) ||
	    (b->session && text_check_key("session", b->session, 256, e)) ||
	    txn_begin(&s->txn, e))
		return -1;
	rc = channels_get(s->db, b->channel, &channel, &a, e);
	if (rc == 0)
		rc = channel_check_not_deleting(&channel, e);
	if (rc == 0)
		rc = agents_get(s->db, b->agent, &agent, &a, e);
	arena_fini(&a);
	return rc ? -1 : binding_set(s->db, b, by, e);
}

static int put_binding(struct supervisor *s, const struct binding_row *b,
		       const char *by, struct completion done, struct err *e)
{
	if (channel_bind(s, b, by, e))
		return -1;
	complete_later(s, done, b->channel, true, "bound");
	return 0;
}

int supervisor_binding_put(struct supervisor *s, const struct binding_row *b,
			   const char *by, struct completion done,
			   struct err *e)
{
	txn_try_begin(&s->txn);
	return txn_try_end(&s->txn, put_binding(s, b, by, done, e), e);
}

static int delete_binding(struct supervisor *s, const struct binding_row *b,
			  const char *by, struct completion done, struct err *e)
{
	struct binding_delete_in in = {b->channel, b->peer, b->kind};
	int n;

	if (txn_begin(&s->txn, e))
		return -1;
	n = sql_exec(s->db, Q_BINDING_DELETE, &in, e);
	if (n < 0 ||
	    control_audit(s->db, by, "channel.unbind", b->channel, NULL, e))
		return -1;
	complete_later(s, done, b->channel, n > 0,
		       n > 0 ? "unbound" : "there was no such binding");
	return 0;
}

int supervisor_binding_delete(struct supervisor *s, const struct binding_row *b,
			      const char *by, struct completion done,
			      struct err *e)
{
	txn_try_begin(&s->txn);
	return txn_try_end(&s->txn, delete_binding(s, b, by, done, e), e);
}

/* --- deliveries ------------------------------------------------------- */

/* Looks for a message posted with this key. Returns 1 and its id if it is the
 * same, 0 if there is none, -1 if it is another message. */
static int find_posted(struct supervisor *s, const struct delivery_new *d,
		       struct id *id, struct arena *a, struct err *e)
{
	struct delivery_by_source_key_in in = {d->source_key};
	struct delivery_by_source_key_row row;
	int found = d->source_key ? sql_get(s->db, Q_DELIVERY_BY_SOURCE_KEY,
					    &in, &row, a, e)
				  : 0;

	if (found != 1)
		return found;
	if (strcmp(row.channel, d->channel) != 0 ||
	    strcmp(row.conversation ? row.conversation : "",
		   d->conversation ? d->conversation : "") != 0 ||
	    strcmp(row.body, d->body) != 0)
		return err_set(e, ERR_CONFLICT,
			       "the idempotency key was used for another "
			       "message (delivery %s)",
			       row.id);
	snprintf(id->text, sizeof id->text, "%s", row.id);
	return 1;
}

static int add_posted(struct supervisor *s, const struct delivery_new *d,
		      const cJSON *body, struct id *id, struct err *e)
{
	int64_t now = clock_now();
	struct conversation_touch_in touch = {d->conversation, false, now};

	if (delivery_add(s->db, d, now, id, e) < 0 ||
	    attachments_use(s->db, id->text, body, e) ||
	    delivery_event_new(s, d, id->text, now, e))
		return -1;
	if (!d->conversation)
		return 0;
	return sql_exec(s->db, Q_CONVERSATION_TOUCH, &touch, e) < 0 ? -1 : 0;
}

/* Returns 1 if the message is new, 0 if it was posted before. */
static int post(struct supervisor *s, struct channel *c,
		const struct post_request *l, cJSON *body, struct id *id,
		struct err *e)
{
	struct conversation_key conversation = {.channel = c->name,
						.peer = l->peer,
						.sender = "",
						.kind = "direct",
						.agent = c->config.agent};
	struct delivery_new d = {.channel = c->name};
	struct buf text = BUF_MAX(16u << 20);
	struct conversation_row row;
	struct arena a = {0};
	int rc = channel_attach(s, c, body, e);

	if (l->key)
		d.source_key = arena_printf(&a, "key:%s", l->key);
	if (rc == 0 && l->peer) {
		rc = conversation_open(s->db, &conversation, clock_now(), &row,
				       &a, e);
		if (rc == 0)
			d.conversation = row.id;
	}
	if (rc == 0)
		rc = channel_fill(s, &d, &a, e);
	json_add(&text, body);
	d.body = text.p;
	if (rc == 0)
		rc = find_posted(s, &d, id, &a, e);
	if (rc == 0)
		rc = add_posted(s, &d, body, id, e) ? -1 : 1;
	else if (rc == 1)
		rc = 0;
	buf_fini(&text);
	arena_fini(&a);
	c->may_be_due = true;
	return rc;
}

static int post_message(struct supervisor *s, const struct post_request *l,
			struct completion done, struct err *e)
{
	struct channel *c = channel_accepting(s, l->channel);
	cJSON *json;
	struct id id;
	int rc;

	if (!c)
		return channel_closed(s, l->channel, e);
	if (c->ops->pull && !l->peer)
		return err_set(e, ERR_USAGE,
			       "a message on a %s channel needs a "
			       "conversation, whose client reads it",
			       c->ops->kind);
	if ((l->peer &&
	     text_check_key("conversation", l->peer, CHANNEL_KEY_MAX, e)) ||
	    (l->key && text_check_key("key", l->key, 256, e)) ||
	    txn_begin(&s->txn, e))
		return -1;
	json = json_parse_object("body", l->body, strlen(l->body), e);
	rc = json ? post(s, c, l, json, &id, e) : -1;
	cJSON_Delete(json);
	if (rc >= 0)
		complete_later(s, done, id.text, rc == 1,
			       rc == 1 ? "accepted" : "it was posted before");
	return rc < 0 ? -1 : 0;
}

int supervisor_post_message(struct supervisor *s, const struct post_request *l,
			    struct completion done, struct err *e)
{
	txn_try_begin(&s->txn);
	return txn_try_end(&s->txn, post_message(s, l, done, e), e);
}

/* Opens the conversation of a stored address again. */
static int reopen_conversation(struct supervisor *s,
			       const struct delivery_row *row,
			       const char *agent,
			       struct conversation_row *conversation,
			       struct arena *a, struct err *e)
{
	cJSON *address = json_parse_object("conversation", row->conversation,
					   strlen(row->conversation), e);
	struct conversation_key t = {
		.channel = row->channel,
		.peer = json_text(address, "peer", ""),
		.sender = json_text(address, "thread", ""),
		.kind = json_text(address, "kind", ""),
		.agent = agent,
	};
	int rc = address ? conversation_open(s->db, &t, clock_now(),
					     conversation, a, e)
			 : -1;

	cJSON_Delete(address);
	return rc;
}

/* If the conversation of a delivery was deleted with a former channel
 * (delivery_keep_address), opens it again on the channel that has the name
 * now. */
static int readdress(struct supervisor *s, const char *id, struct arena *a,
		     struct err *e)
{
	struct channel_config config;
	struct conversation_row conversation;
	struct delivery_row row;
	struct delivery_new destination = {0};
	int rc = sql_get(s->db, Q_DELIVERY_GET, &(struct delivery_get_in){id},
			 &row, a, e);

	if (rc != 1 || !row.conversation || row.conversation[0] != '{')
		return rc < 0 ? -1 : 0;
	rc = channel_settings(s, row.channel, &config, a, e);
	if (rc != 1)
		return rc; /* it fails as before */
	if (reopen_conversation(s, &row, config.agent, &conversation, a, e))
		return -1;
	destination.channel = row.channel;
	destination.conversation = conversation.id;
	if (channel_fill(s, &destination, a, e))
		return -1;
	return sql_exec(s->db, Q_DELIVERY_READDRESS,
			&(struct delivery_readdress_in){
				row.seq, conversation.id,
				destination.ordering_key},
			e) < 0
		       ? -1
		       : 0;
}

static int resend(struct supervisor *s, const char *id, struct id *made,
		  struct delivery_row *row, struct arena *a, struct err *e)
{
	struct delivery_new d = {.resend_of = id};

	if (delivery_resend(s->db, id, clock_now(), made, e) ||
	    sql_get(s->db, Q_DELIVERY_GET,
		    &(struct delivery_get_in){made->text}, row, a, e) < 0)
		return -1;
	d.channel = row->channel;
	d.agent = row->agent;
	return delivery_event_new(s, &d, made->text, clock_now(), e);
}

static int change_delivery(struct supervisor *s, const char *id,
			   const char *verb, const char *by,
			   struct completion done, struct err *e)
{
	struct delivery_row row;
	struct arena a = {0};
	struct id made;
	int rc;

	if (text_check_word("verb", "retry|discard|resend", verb, e) ||
	    txn_begin(&s->txn, e) ||
	    (verb[0] == 'r' && readdress(s, id, &a, e))) {
		arena_fini(&a);
		return -1;
	}
	snprintf(made.text, sizeof made.text, "%s", id);
	rc = !strcmp(verb, "resend")
		     ? resend(s, id, &made, &row, &a, e)
		     : delivery_operate(s->db, id,
					verb[0] == 'r' ? DELIVERY_EV_RETRY
						       : DELIVERY_EV_DISCARD,
					clock_now(), &row, &a, e);
	if (rc == 0)
		rc = control_audit(s->db, by,
				   arena_printf(&a, "delivery.%s", verb), id,
				   NULL, e);
	if (rc == 0) {
		channel_hint_due(s, row.channel);
		s->host_changed = true;
		complete_later(s, done, made.text, true,
			       verb[0] == 'd' ? "discarded" : "pending");
	}
	arena_fini(&a);
	return rc;
}

int supervisor_delivery_verb(struct supervisor *s, const char *id,
			     const char *verb, const char *by,
			     struct completion done, struct err *e)
{
	txn_try_begin(&s->txn);
	return txn_try_end(&s->txn, change_delivery(s, id, verb, by, done, e),
			   e);
}
