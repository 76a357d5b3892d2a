/* What a plugin asks of skepd: docs/CHANNELS.md. */
#include "supervisor/plugin.h"

#include "base/clock.h"
#include "base/log.h"
#include "supervisor/inbound.h"

#include <stdlib.h>
#include <string.h>

#define NOT_FOUND      (-32601)
#define BAD_PARAMS     (-32602)
#define INTERNAL_ERROR (-32603)
#define CURSOR_MAX     (64u << 10)

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
			plugin_refuse(p, r->id, INTERNAL_ERROR,
				      result->failed->text);
		else if (r->id)
			plugin_answer(p, r->id, b.p);
		else
			plugin_tell(p, "message.received", r->ref,
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
	if (arrival_from_outside(&m, e)) {
		arrival_fini(&m);
		return -1;
	}
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
		plugin_answer(p, id, "{\"ok\":true}");
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
		plugin_answer(p, id, "{\"ok\":true}");
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
		plugin_answer(p, id, "{\"ok\":true}");
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

void plugin_request(struct plugin *p, const struct rpc_line *r)
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
			plugin_refuse(p, reply, BAD_PARAMS, e.text);
		}
		return;
	}
	plugin_refuse(p, reply, NOT_FOUND, "there is no such method");
}
