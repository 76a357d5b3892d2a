/* What skepd says to a plugin: docs/CHANNELS.md. */
#include "supervisor/channel/plugin/plugin.h"

#include "lib/json/json.h"
#include "supervisor/channel/attachments.h"
#include "supervisor/channel/envelope.h"

#include <string.h>

static void begin_request(struct plugin *p, int64_t id, const char *method)
{
	buf_adds(&p->outbox, "{\"jsonrpc\":\"2.0\",");
	if (id >= 0)
		buf_addf(&p->outbox, "\"id\":%lld,", (long long)id);
	buf_addf(&p->outbox, "\"method\":\"%s\",\"params\":", method);
}

/* An outbox that is over its ceiling is a plugin that does not read. */
static bool end_request(struct plugin *p)
{
	buf_adds(&p->outbox, "}\n");
	if (p->outbox.over) {
		plugin_fail(p, "it does not read its input");
		return false;
	}
	return plugin_flush(p);
}

static void add_or_null(struct buf *b, const char *json)
{
	buf_adds(b, json ? json : "null");
}

/* As the row has it now: what it kept before it was started again is there. */
static void add_cursor(struct plugin *p)
{
	const struct channel *c = p->channel;
	struct channel_row row = {0};
	struct arena a = {0};
	struct err e;

	if (channels_get(c->sup->db, c->name, &row, &a, &e))
		row.cursor = NULL; /* it was removed just now */
	add_or_null(&p->outbox, row.cursor);
	arena_fini(&a);
}

void plugin_configure(struct plugin *p)
{
	const struct channel *c = p->channel;
	struct home_path media = channel_media_dir(c);

	begin_request(p, ++p->next_id, "channel.configure");
	buf_adds(&p->outbox, "{\"name\":");
	json_add_string(&p->outbox, c->name, strlen(c->name));
	buf_adds(&p->outbox, ",\"config\":");
	add_or_null(&p->outbox, c->json);
	buf_adds(&p->outbox, ",\"cursor\":");
	add_cursor(p);
	buf_adds(&p->outbox, ",\"media_dir\":");
	json_add_string(&p->outbox, media.text, strlen(media.text));
	buf_addc(&p->outbox, '}');
	if (end_request(p))
		plugin_set_state(p, PLUGIN_CONFIGURING);
}

void plugin_ping(struct plugin *p)
{
	begin_request(p, PLUGIN_PING_ID, "channel.status");
	buf_adds(&p->outbox, "{}");
	end_request(p);
}

void plugin_send_stop(struct plugin *p)
{
	if (p->in < 0)
		return;
	begin_request(p, -1, "channel.stop");
	buf_adds(&p->outbox, "{}}\n");
}

static void wait_for(struct plugin *p, struct inflight *delivery)
{
	delivery->own = (void *)(intptr_t)p->next_id;
	delivery->next = p->waiting;
	p->waiting = delivery;
}

void plugin_send(struct channel *c, struct inflight *delivery)
{
	struct plugin *p = c->own;
	struct outcome o;
	struct err e;

	if (envelope_write(delivery, &delivery->body, &e)) {
		o = outcome_of(DELIVERY_EV_REFUSE, OPT_NONE, -1, "%s", e.text);
		inflight_done(delivery, &o);
		return;
	}
	if (p->state != PLUGIN_READY || p->in < 0) { /* it went meanwhile */
		o = outcome_of(DELIVERY_EV_FAIL, OPT_NONE, -1,
			       "the plugin is not there");
		inflight_done(delivery, &o);
		return;
	}
	if (!plugin_can_buffer(
		    p, delivery->body.n)) { /* it may well read, slowly */
		o = outcome_of(DELIVERY_EV_FAIL, OPT_NONE, -1,
			       "the plugin has not read what it was sent");
		inflight_done(delivery, &o);
		return;
	}
	begin_request(p, ++p->next_id, "channel.send");
	buf_add(&p->outbox, delivery->body.p, delivery->body.n);
	wait_for(p, delivery);
	end_request(p);
}

bool plugin_query(struct channel *c, struct inflight *delivery)
{
	struct plugin *p = c->own;

	if (!p->resolves || p->state != PLUGIN_READY || p->in < 0)
		return false;
	begin_request(p, ++p->next_id, "channel.status");
	buf_addf(&p->outbox, "{\"delivery\":\"%s\"}", delivery->row.id);
	wait_for(p, delivery);
	end_request(p);
	return true;
}

/* id is JSON text of a request of theirs. */
void plugin_answer(struct plugin *p, const char *id, const char *result)
{
	buf_addf(&p->outbox, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s", id,
		 result);
	end_request(p);
}

void plugin_refuse(struct plugin *p, const char *id, int code, const char *why)
{
	if (!id)
		return;
	buf_addf(&p->outbox,
		 "{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":%d,"
		 "\"message\":",
		 id, code);
	json_add_string(&p->outbox, why, strlen(why));
	buf_addc(&p->outbox, '}');
	end_request(p);
}

void plugin_notify(struct plugin *p, const char *event, const char *ref,
		   const char *id)
{
	begin_request(p, -1, "channel.event");
	buf_addf(&p->outbox, "{\"event\":\"%s\",\"data\":{\"ref_id\":", event);
	json_add_string(&p->outbox, ref, strlen(ref));
	buf_addf(&p->outbox, ",\"id\":\"%s\"}}", id);
	end_request(p);
}
