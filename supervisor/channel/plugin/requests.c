/* Requests of a plugin to skepd: docs/CHANNELS.md. */
#include "supervisor/channel/plugin/plugin.h"

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/text.h"
#include "supervisor/channel/inbound.h"
#include "supervisor/channel/lookup.h"
#include "supervisor/channel/plugin/log.h"

#include <stdlib.h>
#include <string.h>

#define NOT_FOUND      (-32601)
#define BAD_PARAMS     (-32602)
#define INTERNAL_ERROR (-32603)
#define CURSOR_MAX     (64u << 10)

/* --- inbound messages ----------------------------------------------------- */

struct receipt { /* for a request that is being committed */
	struct supervisor *sup;
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

static char *copy_text(const char *text)
{
	char *out = text ? strdup(text) : NULL;

	if (text && !out)
		abort();
	return out;
}

static struct receipt *receipt_new(const struct plugin *p, const char *id,
				   const char *ref)
{
	struct receipt *r = calloc(1, sizeof *r);

	if (!r)
		abort();
	*r = (struct receipt){p->channel->sup, copy_text(p->channel->name),
			      copy_text(id), copy_text(ref), p->serial};
	return r;
}

/* The plugin that sent the request; NULL: it has ended. */
static struct plugin *requester(const struct receipt *r)
{
	struct channel *c = channel_accepting(r->sup, r->channel);
	struct plugin *p = c && c->ops == &channel_plugin ? c->own : NULL;

	return p && p->serial == r->serial && p->in >= 0 ? p : NULL;
}

/* The message is committed: answers the plugin. */
static void received(void *arg, const struct command_result *result)
{
	struct receipt *r = arg;
	struct plugin *p = requester(r);
	struct buf b = BUF_MAX(1024);

	if (p) {
		json_begin_object(&b);
		json_put_bool(&b, "ok", true);
		json_put_text(&b, "id", result->id.text);
		json_put_bool(&b, "duplicate", !result->changed);
		json_end_object(&b);
		if (result->failed)
			plugin_refuse(p, r->id, INTERNAL_ERROR,
				      result->failed->text);
		else if (r->id)
			plugin_answer(p, r->id, b.p);
		else
			plugin_notify(p, "message.received", r->ref,
				      result->id.text);
	}
	buf_fini(&b);
	receipt_free(r);
}

static int on_receive(struct plugin *p, const char *id, const cJSON *params,
		      struct err *e)
{
	struct receipt *r;
	struct inbound_message m;

	if (p->state != PLUGIN_READY && p->state != PLUGIN_CONFIGURING)
		return err_set(e, ERR_CONFLICT, "register first");
	if (inbound_message_read(&m, params, e))
		return -1;
	if (inbound_message_from_outside(&m, e)) {
		inbound_message_fini(&m);
		return -1;
	}
	r = receipt_new(p, id, m.external_id ? m.external_id : "");
	if (inbound_accept(r->sup, r->channel, &m,
			   (struct completion){received, r}, e)) {
		receipt_free(r);
		inbound_message_fini(&m);
		return -1;
	}
	inbound_message_fini(&m);
	return 0;
}

/* --- other requests
 * --------------------------------------------------------- */

/* Is the member absent or of this type? */
static bool is_fine(const cJSON *params, const char *name,
		    cJSON_bool (*is)(const cJSON *))
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(params, name);

	return !v || is(v);
}

static int on_register(struct plugin *p, const char *id, const cJSON *params,
		       struct err *e)
{
	struct channel *c = p->channel;

	if (p->state != PLUGIN_STARTED)
		return err_set(e, ERR_CONFLICT,
			       "the plugin is already registered");
	if (!json_text(params, "name", "")[0] ||
	    !is_fine(params, "version", cJSON_IsString) ||
	    !is_fine(params, "idempotent", cJSON_IsBool) ||
	    !is_fine(params, "resolves", cJSON_IsBool))
		return err_set(e, ERR_INVALID,
			       "channel.register needs the strings name and "
			       "version, and the booleans idempotent and "
			       "resolves");
	if (!strcmp(c->config.idempotent, "auto"))
		c->idempotent = json_bool(params, "idempotent", false);
	p->resolves = json_bool(params, "resolves", false);
	log_info(LT("msg", "plugin registered"), LT("channel", c->name),
		 LT("name", json_text(params, "name", "-")),
		 LT("version", json_text(params, "version", "-")));
	if (id)
		plugin_answer(p, id, "{\"ok\":true}");
	if (p->state == PLUGIN_STARTED) /* unless the answer failed */
		plugin_configure(p);
	return 0;
}

/* The cursor is committed: the plugin may discard older messages. */
static void cursor_committed(void *arg, const struct err *failed)
{
	struct receipt *r = arg;
	struct plugin *p = requester(r);

	if (p && failed)
		plugin_refuse(p, r->id, INTERNAL_ERROR, failed->text);
	else if (p && r->id)
		plugin_answer(p, r->id, "{\"ok\":true}");
	receipt_free(r);
}

static int store_cursor(struct plugin *p, const char *id, const cJSON *data,
			struct err *e)
{
	struct channel *c = p->channel;
	struct buf b = BUF_MAX(CURSOR_MAX);
	struct channel_cursor_in in = {c->name, NULL, clock_now()};
	int rc;

	json_add(&b, data);
	in.cursor = b.p;
	rc = buf_ok(&b, "the cursor", e);
	if (rc == 0 && (txn_begin(&c->sup->txn, e) ||
			sql_exec(c->sup->db, Q_CHANNEL_CURSOR, &in, e) < 0))
		rc = -1;
	if (rc == 0)
		txn_on_commit(&c->sup->txn, cursor_committed,
			      receipt_new(p, id, NULL));
	buf_fini(&b);
	return rc;
}

static int on_plugin_event(struct plugin *p, const char *id,
			   const cJSON *params, struct err *e)
{
	const char *event = json_text(params, "event", NULL);
	const cJSON *data = cJSON_GetObjectItem(params, "data");

	if (!event || (data && !cJSON_IsObject(data)))
		return err_set(e, ERR_INVALID,
			       "an event needs a name and an object");
	if (!strcmp(event, "cursor") && data)
		return store_cursor(p, id, data, e);
	if (plugin_may_note(p))
		log_info(LT("msg", "plugin event"),
			 LT("channel", p->channel->name),
			 LT("event", quoted(event).text));
	if (id)
		plugin_answer(p, id, "{\"ok\":true}");
	return 0;
}

static int on_status(struct plugin *p, const char *id, const cJSON *params,
		     struct err *e)
{
	const char *status = json_text(params, "status", "");

	if (strcmp(status, "ok") != 0 && strcmp(status, "error") != 0)
		return err_set(e, ERR_INVALID, "a status must be ok or error");
	if (status[0] == 'o')
		channel_clear_error(p->channel);
	else if (plugin_may_note(p))
		channel_set_error(p->channel,
				  quoted(json_text(params, "detail",
						   "it reports an error"))
					  .text);
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
	{"channel.event", on_plugin_event},
	{"channel.status", on_status},
};

#define METHODS (sizeof methods / sizeof methods[0])

/* Logs a refused request. A refused registration is stored as the error of the
 * channel, since the plugin will be ended because of it. */
static void note_refusal(struct plugin *p, const struct rpc_line *r,
			 const struct err *e)
{
	if (!plugin_may_note(p))
		return;
	if (p->state == PLUGIN_STARTED) {
		channel_set_error(p->channel, e->text);
		return;
	}
	/* a notification has no answer; the author reads this log */
	if (!r->id[0])
		plugin_log_note(p->channel->sup, p->channel->name,
				"a notice %s is refused: %s",
				quoted(r->method).text, e->text);
	log_warn(LT("msg", "message of a plugin refused"),
		 LT("channel", p->channel->name),
		 LT("method", quoted(r->method).text), LT("error", e->text));
}

/* The plugin drops a message that is invalid, and repeats one that skepd could
 * not store. */
static int code_of(const struct err *e)
{
	return err_is_retryable(e->code) || err_http_status(e->code) >= 500
		       ? INTERNAL_ERROR
		       : BAD_PARAMS;
}

void plugin_request(struct plugin *p, const struct rpc_line *r)
{
	const char *reply = r->id[0] ? r->id : NULL;
	struct err e;
	int code = NOT_FOUND, rc = -1;
	size_t i = 0;

	while (i < METHODS && strcmp(methods[i].name, r->method) != 0)
		i++;
	if (i < METHODS) {
		rc = methods[i].call(p, reply, r->params, &e);
		code = rc ? code_of(&e) : 0;
	} else {
		err_set(&e, ERR_NOTFOUND, "unknown method %s",
			quoted(r->method).text);
	}
	if (rc) {
		note_refusal(p, r, &e);
		plugin_refuse(p, reply, code, e.text);
	}
}
