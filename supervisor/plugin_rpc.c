/* What skepd and a plugin say to each other: docs/CHANNELS.md. */
#include "supervisor/plugin.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "supervisor/inbound.h"
#include "supervisor/rpc_line.h"

#include <stdlib.h>
#include <string.h>

#define BAD_LINES_MAX  100
#define ID_PING        0
#define NOT_FOUND      (-32601)
#define BAD_PARAMS     (-32602)
#define INTERNAL_ERROR (-32603)
#define CURSOR_MAX     (64u << 10)

/* --- saying ----------------------------------------------------------- */

static void begin(struct plugin *p, int64_t id, const char *method)
{
	buf_adds(&p->outbox, "{\"jsonrpc\":\"2.0\",");
	if (id >= 0)
		buf_addf(&p->outbox, "\"id\":%lld,", (long long)id);
	buf_addf(&p->outbox, "\"method\":\"%s\",\"params\":", method);
}

/* An outbox that is over its ceiling is a plugin that does not read. */
static bool end(struct plugin *p)
{
	buf_adds(&p->outbox, "}\n");
	if (p->outbox.over) {
		plugin_fail(p, "it does not read what it is sent");
		return false;
	}
	plugin_flush(p);
	return true;
}

static void add_or_null(struct buf *b, const char *json)
{
	buf_adds(b, json ? json : "null");
}

void plugin_configure(struct plugin *p)
{
	const struct channel *c = p->channel;
	struct home_path media = home_path(&c->sup->home, HOME_MEDIA);

	begin(p, ++p->next_id, "channel.configure");
	buf_adds(&p->outbox, "{\"name\":");
	json_add_string(&p->outbox, c->name, strlen(c->name));
	buf_adds(&p->outbox, ",\"config\":");
	add_or_null(&p->outbox, c->json);
	buf_adds(&p->outbox, ",\"cursor\":");
	add_or_null(&p->outbox, c->cursor);
	buf_adds(&p->outbox, ",\"media_dir\":");
	json_add_string(&p->outbox, media.text, strlen(media.text));
	buf_addc(&p->outbox, '}');
	if (end(p))
		p->state = PLUGIN_CONFIGURING;
}

void plugin_ping(struct plugin *p)
{
	begin(p, ID_PING, "channel.status");
	buf_adds(&p->outbox, "{}");
	end(p);
}

void plugin_stop_word(struct plugin *p)
{
	if (p->in < 0)
		return;
	begin(p, -1, "channel.stop");
	buf_adds(&p->outbox, "{}}\n");
}

static void wait_for(struct plugin *p, struct parcel *parcel)
{
	parcel->own = (void *)(intptr_t)p->next_id;
	parcel->next = p->waiting;
	p->waiting = parcel;
}

void plugin_send(struct channel *c, struct parcel *parcel)
{
	struct plugin *p = c->own;
	struct outcome o;
	struct err e;

	if (wire_envelope(parcel, &parcel->body, &e)) {
		o = outcome_of(DELIVERY_EV_REFUSE, OPT_NONE, -1, "%s", e.text);
		parcel_done(parcel, &o);
		return;
	}
	if (p->state != PLUGIN_READY) { /* it failed after the claim */
		o = outcome_of(DELIVERY_EV_FAIL, OPT_NONE, -1,
			       "the plugin is not there");
		parcel_done(parcel, &o);
		return;
	}
	begin(p, ++p->next_id, "channel.send");
	buf_add(&p->outbox, parcel->body.p, parcel->body.n);
	wait_for(p, parcel);
	end(p);
}

bool plugin_ask(struct channel *c, struct parcel *parcel)
{
	struct plugin *p = c->own;

	if (!p->resolves || p->state != PLUGIN_READY)
		return false;
	begin(p, ++p->next_id, "channel.status");
	buf_addf(&p->outbox, "{\"delivery\":\"%s\"}", parcel->row.id);
	wait_for(p, parcel);
	end(p);
	return true;
}

/* id is JSON text of a request of theirs. */
static void answer(struct plugin *p, const char *id, const char *result)
{
	buf_addf(&p->outbox, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s", id,
		 result);
	end(p);
}

static void refuse(struct plugin *p, const char *id, int code, const char *why)
{
	if (!id)
		return;
	buf_addf(&p->outbox,
		 "{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":%d,"
		 "\"message\":",
		 id, code);
	json_add_string(&p->outbox, why, strlen(why));
	buf_addc(&p->outbox, '}');
	end(p);
}

static void tell_event(struct plugin *p, const char *event, const char *ref,
		       const char *id)
{
	begin(p, -1, "channel.event");
	buf_addf(&p->outbox, "{\"event\":\"%s\",\"data\":{\"ref_id\":", event);
	json_add_string(&p->outbox, ref, strlen(ref));
	buf_addf(&p->outbox, ",\"id\":\"%s\"}}", id);
	end(p);
}

/* --- messages that it brings ------------------------------------------ */

struct receipt { /* for a message that is being committed */
	struct sup *sup;
	char *channel, *id, *ref;
	int64_t serial;
};

static void receipt_free(struct receipt *r)
{
	free(r->channel);
	free(r->id);
	free(r->ref);
	free(r);
}

static char *copy(const char *text)
{
	char *out = text ? strdup(text) : NULL;

	if (text && !out)
		abort();
	return out;
}

/* Committed: now it may be told, if the plugin is still the same. */
static void received(void *arg, const struct sup_result *result)
{
	struct receipt *r = arg;
	struct channel *c = channel_find(r->sup, r->channel);
	struct plugin *p = c && c->ops == &channel_plugin ? c->own : NULL;
	struct buf b = BUF_MAX(1024);

	if (p && p->serial == r->serial && p->in >= 0) {
		buf_addf(&b, "{\"ok\":true,\"id\":\"%s\",\"duplicate\":%s}",
			 result->id.text, result->changed ? "false" : "true");
		if (result->failed)
			refuse(p, r->id, INTERNAL_ERROR, result->failed->text);
		else if (r->id)
			answer(p, r->id, b.p);
		else
			tell_event(p, "message.received", r->ref,
				   result->id.text);
	}
	buf_fini(&b);
	receipt_free(r);
}

static int on_receive(struct plugin *p, const char *id, const cJSON *params,
		      struct err *e)
{
	struct receipt *r;
	struct arrival m;

	if (p->state != PLUGIN_READY && p->state != PLUGIN_CONFIGURING)
		return err_set(e, ERR_CONFLICT, "register first");
	if (arrival_read(&m, params, e))
		return -1;
	r = calloc(1, sizeof *r);
	if (!r)
		abort();
	*r = (struct receipt){p->channel->sup, copy(p->channel->name), copy(id),
			      copy(m.external_id ? m.external_id : ""),
			      p->serial};
	if (inbound_take(r->sup, r->channel, &m, (struct sup_done){received, r},
			 e)) {
		receipt_free(r);
		arrival_fini(&m);
		return -1;
	}
	arrival_fini(&m);
	return 0;
}

/* --- what else it says ------------------------------------------------ */

static int on_register(struct plugin *p, const char *id, const cJSON *params,
		       struct err *e)
{
	struct channel *c = p->channel;

	if (p->state != PLUGIN_STARTED)
		return err_set(e, ERR_CONFLICT, "it is registered already");
	if (!strcmp(c->config.idempotent, "auto"))
		c->idempotent = json_bool(params, "idempotent", false);
	p->resolves = json_bool(params, "resolves", false);
	log_info(LT("msg", "plugin registered"), LT("channel", c->name),
		 LT("name", json_text(params, "name", "-")),
		 LT("version", json_text(params, "version", "-")));
	if (id)
		answer(p, id, "{\"ok\":true}");
	plugin_configure(p);
	return 0;
}

static int keep_cursor(struct plugin *p, const cJSON *data, struct err *e)
{
	struct channel *c = p->channel;
	struct buf b = BUF_MAX(CURSOR_MAX);
	struct channel_cursor_in in = {c->name, NULL, clock_now()};
	int rc;

	json_add(&b, data);
	in.cursor = b.p;
	rc = buf_ok(&b, "the cursor", e);
	if (rc == 0 && (step_begin(&c->sup->step, e) ||
			sql_exec(c->sup->db, Q_CHANNEL_CURSOR, &in, e) < 0))
		rc = -1;
	if (rc == 0)
		c->cursor = arena_text(&c->arena, b.p);
	buf_fini(&b);
	return rc;
}

static int on_event(struct plugin *p, const char *id, const cJSON *params,
		    struct err *e)
{
	const char *event = json_text(params, "event", NULL);
	const cJSON *data = cJSON_GetObjectItem(params, "data");

	if (!event || (data && !cJSON_IsObject(data)))
		return err_set(e, ERR_INVALID,
			       "an event has a name and an object");
	if (!strcmp(event, "cursor") && data) {
		if (keep_cursor(p, data, e))
			return -1;
	} else {
		log_info(LT("msg", "plugin event"),
			 LT("channel", p->channel->name), LT("event", event));
	}
	if (id)
		answer(p, id, "{\"ok\":true}");
	return 0;
}

static int on_status(struct plugin *p, const char *id, const cJSON *params,
		     struct err *e)
{
	(void)e;
	if (!strcmp(json_text(params, "status", ""), "error"))
		channel_trouble(p->channel,
				json_text(params, "detail", "it has trouble"));
	if (id)
		answer(p, id, "{\"ok\":true}");
	return 0;
}

static const struct {
	const char *name;
	int (*call)(struct plugin *p, const char *id, const cJSON *params,
		    struct err *e);
} methods[] = {
	{"channel.register", on_register},
	{"channel.receive", on_receive},
	{"channel.event", on_event},
	{"channel.status", on_status},
};

static void on_request(struct plugin *p, const struct rpc_line *r)
{
	const char *reply = r->id[0] ? r->id : NULL;
	struct err e;

	for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
		if (strcmp(methods[i].name, r->method) != 0)
			continue;
		if (methods[i].call(p, reply, r->params, &e)) {
			log_warn(LT("msg", "a plugin's message is refused"),
				 LT("channel", p->channel->name),
				 LT("method", r->method), LT("error", e.text));
			refuse(p, reply, BAD_PARAMS, e.text);
		}
		return;
	}
	refuse(p, reply, NOT_FOUND, "there is no such method");
}

/* --- what it answers -------------------------------------------------- */

static struct parcel *take_parcel(struct plugin *p, int64_t number)
{
	for (struct parcel **at = &p->waiting; *at; at = &(*at)->next) {
		struct parcel *parcel = *at;

		if ((intptr_t)parcel->own != number)
			continue;
		*at = parcel->next;
		return parcel;
	}
	return NULL;
}

static struct outcome outcome_said(const struct rpc_line *r, bool asked)
{
	const cJSON *data = cJSON_GetObjectItem(r->error, "data");
	const char *said = json_text(r->result, "delivery", "unknown");
	struct outcome o;

	if (r->error && !asked)
		return outcome_of(json_bool(data, "permanent", false)
					  ? DELIVERY_EV_REFUSE
					  : DELIVERY_EV_FAIL,
				  json_i64(r->error, "code", 0),
				  json_i64(data, "retry_after_ms", -1), "%s",
				  json_text(r->error, "message", ""));
	if (asked)
		return outcome_of(!strcmp(said, "delivered") ? DELIVERY_EV_ACK
				  : !strcmp(said, "missing") ? DELIVERY_EV_FAIL
							     : DELIVERY_EV_LOSE,
				  OPT_NONE, -1, "the plugin says: %s", said);
	o = outcome_of(DELIVERY_EV_ACK, OPT_NONE, -1, "%s", "");
	snprintf(o.ref, sizeof o.ref, "%s", json_text(r->result, "id", ""));
	return o;
}

static void on_configured(struct plugin *p, const struct rpc_line *r)
{
	if (r->error) {
		plugin_fail(p, "it refuses its configuration: %.100s",
			    json_text(r->error, "message", ""));
		return;
	}
	p->state = PLUGIN_READY;
	p->ready_ms = p->heard_ms;
	p->channel->look = p->channel->resolve = true;
	p->channel->resolved_to = 0;
}

static void on_answer(struct plugin *p, const struct rpc_line *r)
{
	struct parcel *parcel;
	struct outcome o;

	if (r->number == ID_PING)
		return;
	if (p->state == PLUGIN_CONFIGURING && r->number == p->next_id) {
		on_configured(p, r);
		return;
	}
	parcel = take_parcel(p, r->number);
	if (!parcel)
		return; /* it was given up meanwhile */
	o = outcome_said(r, parcel->asking);
	parcel_done(parcel, &o);
}

static void bad_line(struct plugin *p, const char *why)
{
	if (p->bad_lines++ == 0)
		channel_trouble(p->channel, why);
	if (p->bad_lines > BAD_LINES_MAX)
		plugin_fail(p, "it talks nonsense: %.120s", why);
}

void plugin_line(struct plugin *p, const char *line, size_t n)
{
	struct rpc_line r;
	struct err e;

	if (n == 0)
		return;
	if (rpc_line_read(&r, line, n, &e)) {
		bad_line(p, e.text);
		return;
	}
	if (r.method)
		on_request(p, &r);
	else
		on_answer(p, &r);
	rpc_line_fini(&r);
}
