/* Requests of skepd to a plugin: docs/CHANNELS.md. */
#include "supervisor/channel/plugin/plugin.h"

#include "lib/json/json.h"
#include "supervisor/channel/attachments.h"
#include "supervisor/channel/envelope.h"

static void begin_message(struct plugin *p)
{
	json_begin_object(&p->outbox);
	json_put_text(&p->outbox, "jsonrpc", "2.0");
}

/* The parameters follow. */
static void begin_request(struct plugin *p, int64_t id, const char *method)
{
	begin_message(p);
	if (id >= 0)
		json_put_int(&p->outbox, "id", id);
	json_put_text(&p->outbox, "method", method);
	json_key(&p->outbox, "params");
}

/* The outbox overflows if the plugin does not read. */
static bool end_message(struct plugin *p)
{
	json_end_object(&p->outbox);
	buf_addc(&p->outbox, '\n');
	if (p->outbox.over) {
		plugin_fail(p, "it does not read its input");
		return false;
	}
	return plugin_flush(p);
}

/* Reads the row, since the cursor may have changed since the channel was
 * opened. */
static void put_cursor(struct plugin *p)
{
	const struct channel *c = p->channel;
	struct channel_row row = {0};
	struct arena a = {0};
	struct err e;

	if (channels_get(c->sup->db, c->name, &row, &a, &e))
		row.cursor = NULL; /* the channel was deleted just now */
	json_put_raw(&p->outbox, "cursor", row.cursor ? row.cursor : "null");
	arena_fini(&a);
}

void plugin_configure(struct plugin *p)
{
	const struct channel *c = p->channel;
	struct home_path media = channel_media_dir(c);

	begin_request(p, ++p->next_id, "channel.configure");
	json_begin_object(&p->outbox);
	json_put_text(&p->outbox, "name", c->name);
	json_put_raw(&p->outbox, "config", c->json ? c->json : "null");
	put_cursor(p);
	json_put_text(&p->outbox, "media_dir", media.text);
	json_end_object(&p->outbox);
	if (end_message(p))
		plugin_set_state(p, PLUGIN_CONFIGURING);
}

void plugin_ping(struct plugin *p)
{
	begin_request(p, PLUGIN_PING_ID, "channel.status");
	json_add_raw(&p->outbox, "{}");
	end_message(p);
}

void plugin_send_stop(struct plugin *p)
{
	if (p->in < 0)
		return;
	begin_request(p, -1, "channel.stop");
	json_add_raw(&p->outbox, "{}");
	json_end_object(&p->outbox);
	buf_addc(&p->outbox, '\n');
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
	if (p->state != PLUGIN_READY || p->in < 0) { /* it ended meanwhile */
		o = outcome_of(DELIVERY_EV_FAIL, OPT_NONE, -1,
			       "the plugin is not there");
		inflight_done(delivery, &o);
		return;
	}
	if (!plugin_can_buffer(
		    p, delivery->body.n)) { /* it may be reading slowly */
		o = outcome_of(DELIVERY_EV_FAIL, OPT_NONE, -1,
			       "the plugin does not read its standard input");
		inflight_done(delivery, &o);
		return;
	}
	begin_request(p, ++p->next_id, "channel.send");
	buf_add(&p->outbox, delivery->body.p, delivery->body.n);
	wait_for(p, delivery);
	end_message(p);
}

bool plugin_query(struct channel *c, struct inflight *delivery)
{
	struct plugin *p = c->own;

	if (!p->resolves || p->state != PLUGIN_READY || p->in < 0)
		return false;
	begin_request(p, ++p->next_id, "channel.status");
	json_begin_object(&p->outbox);
	json_put_text(&p->outbox, "delivery", delivery->row.id);
	json_end_object(&p->outbox);
	wait_for(p, delivery);
	end_message(p);
	return true;
}

void plugin_answer(struct plugin *p, const char *id, const char *result)
{
	begin_message(p);
	json_put_raw(&p->outbox, "id", id);
	json_put_raw(&p->outbox, "result", result);
	end_message(p);
}

void plugin_refuse(struct plugin *p, const char *id, int code, const char *why)
{
	if (!id)
		return;
	begin_message(p);
	json_put_raw(&p->outbox, "id", id);
	json_put_object(&p->outbox, "error");
	json_put_int(&p->outbox, "code", code);
	json_put_text(&p->outbox, "message", why);
	json_end_object(&p->outbox);
	end_message(p);
}

void plugin_notify(struct plugin *p, const char *event, const char *ref,
		   const char *id)
{
	begin_request(p, -1, "channel.event");
	json_begin_object(&p->outbox);
	json_put_text(&p->outbox, "event", event);
	json_put_object(&p->outbox, "data");
	json_put_text(&p->outbox, "ref_id", ref);
	json_put_text(&p->outbox, "id", id);
	json_end_object(&p->outbox);
	json_end_object(&p->outbox);
	end_message(p);
}
