/* Channels, bindings, conversations; what comes in, and who comes to ask. */
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/text.h"
#include "schema/control/cursor.h"
#include "supervisor/api/body.h"
#include "supervisor/api/list.h"
#include "supervisor/api/request.h"
#include "supervisor/api/routes.h"
#include "supervisor/channel/commands.h"
#include "supervisor/channel/inbound.h"
#include "supervisor/channel/pull.h"
#include "supervisor/channel/webhook/receive.h"

#define WAIT_MAX       60000
#define CLOSED_SECONDS "60" /* until who finds a channel closed comes again */

static int read_channels(struct api_request *q, struct buf *out, struct err *e)
{
	return api_list(q, Q_CHANNEL_LIST, NULL, out, e);
}

void route_channels(void *app, const struct http_request *r,
		    struct http_reply *reply)
{
	request_read(request_new(app, r, reply), read_channels);
}

static int read_channel(struct api_request *q, struct buf *out, struct err *e)
{
	struct channel_row row;

	if (channels_get(supervisor_db(q->api->sup), q->key, &row, &q->arena,
			 e))
		return -1;
	json_add_shape(out, &channel_row_shape, &row);
	return 0;
}

void route_channel_show(void *app, const struct http_request *r,
			struct http_reply *reply)
{
	struct api_request *q = request_new(app, r, reply);

	q->key = request_param(q, r, "name");
	request_read(q, read_channel);
}

void route_channel_put(void *app, const struct http_request *r,
		       struct http_reply *reply)
{
	struct api_request *q = request_new(app, r, reply);
	struct err e = {0};

	q->key = request_param(q, r, "name");
	q->read = read_channel;
	request_command(q,
			supervisor_channel_put(q->api->sup, q->key,
					       http_body(r).p, q->by,
					       request_done(q), &e),
			&e);
}

void route_channel_delete(void *app, const struct http_request *r,
			  struct http_reply *reply)
{
	struct api_request *q = request_new(app, r, reply);
	struct err e = {0};

	request_command(q,
			supervisor_channel_delete(q->api->sup,
						  http_param(r, "name"), q->by,
						  request_done(q), &e),
			&e);
}

void route_channel_switch(void *app, const struct http_request *r,
			  struct http_reply *reply)
{
	struct api_request *q = request_new(app, r, reply);
	struct err e = {0};

	request_command(q,
			supervisor_channel_switch(q->api->sup,
						  http_param(r, "name"),
						  http_param(r, "verb"), q->by,
						  request_done(q), &e),
			&e);
}

/* --- bindings and conversations --------------------------------------- */

static int read_bindings(struct api_request *q, struct buf *out, struct err *e)
{
	struct binding_list_in in = {q->key};

	return api_list(q, Q_BINDING_LIST, &in, out, e);
}

void route_bindings(void *app, const struct http_request *r,
		    struct http_reply *reply)
{
	struct api_request *q = request_new(app, r, reply);

	q->key = request_param(q, r, "name");
	request_read(q, read_bindings);
}

static void set_binding(void *app, const struct http_request *r,
			struct http_reply *reply, bool put)
{
	struct api_request *q = request_new(app, r, reply);
	struct binding_row b = {.peer = "*",
				.kind = "any",
				.agent = "",
				.session_per = "conversation"};
	struct err e = {0};
	int rc = api_body(r, &binding_row_shape, &b, &q->arena, &e);

	b.channel = request_param(q, r, "name");
	if (rc == 0)
		rc = put ? supervisor_binding_put(q->api->sup, &b, q->by,
						  request_done(q), &e)
			 : supervisor_binding_delete(q->api->sup, &b, q->by,
						     request_done(q), &e);
	request_command(q, rc, &e);
}

void route_binding_put(void *app, const struct http_request *r,
		       struct http_reply *reply)
{
	set_binding(app, r, reply, true);
}

void route_binding_delete(void *app, const struct http_request *r,
			  struct http_reply *reply)
{
	set_binding(app, r, reply, false);
}

static int read_conversations(struct api_request *q, struct buf *out,
			      struct err *e)
{
	static const struct api_lists list = {LISTS_CONVERSATIONS,
					      &conversation_row_shape,
					      "last_message_at id", NULL};
	struct conversation_filter in = {.channel = q->filter[0],
					 .count = q->limit};

	if (page_before_conversation(q->db, q->from, &in, &q->arena, e))
		return -1;
	return api_lists(q, &list, &in, out, e);
}

void route_conversations(void *app, const struct http_request *r,
			 struct http_reply *reply)
{
	struct api_request *q = request_new(app, r, reply);

	if (request_limit(q, r))
		return;
	q->from = request_query(q, r, "before");
	q->filter[0] = request_query(q, r, "channel");
	request_read(q, read_conversations);
}

/* --- coming in -------------------------------------------------------- */

/* `id` is the signed one, of a message from outside; NULL: from one of us. */
static void take_inbound(struct api_request *q, const char *channel,
			 const char *id, struct blob text)
{
	struct err e = {0};
	cJSON *json = json_parse_object("message", text.p, text.n, &e);
	struct inbound_message m = {0};
	int rc = json ? inbound_message_read(&m, json, &e) : -1;

	if (rc == 0 && id)
		rc = inbound_message_from_outside(&m, &e);
	if (rc == 0 && !m.external_id)
		m.external_id = id;
	if (rc == 0)
		rc = inbound_take(q->api->sup, channel, &m, request_done(q),
				  &e);
	request_command(q, rc, &e);
	inbound_message_fini(&m);
	cJSON_Delete(json);
}

/* From any client that may start runs; the address names the sender. */
void route_channel_message(void *app, const struct http_request *r,
			   struct http_reply *reply)
{
	take_inbound(request_new(app, r, reply), http_param(r, "name"), NULL,
		     http_body(r));
}

/* From anywhere: the signature says that it is a friend. */
void route_channel_in(void *app, const struct http_request *r,
		      struct http_reply *reply)
{
	struct api_request *q = request_new(app, r, reply);
	const char *name = request_param(q, r, "name");
	struct webhook_claim claim = {
		.id = http_header_once(r, "webhook-id"),
		.timestamp = http_header_once(r, "webhook-timestamp"),
		.signatures = http_header_once(r, "webhook-signature"),
		.body = http_body(r),
		.now_ms = clock_now(),
	};
	struct err e = {0};

	q->by = arena_printf(&q->arena, "channel:%s", name);
	if (webhook_admit(q->api->sup, name, &claim, &e) == 0) {
		take_inbound(q, name, claim.id, claim.body);
		return;
	}
	if (e.code == ERR_BUSY)
		http_reply_header(reply, "Retry-After", CLOSED_SECONDS);
	request_fail(q, &e);
}

/* --- coming to ask ---------------------------------------------------- */

static void reply_message(void *arg, const char *json)
{
	struct api_request *q = arg;

	if (json)
		http_reply_json(q->reply, 200, json, strlen(json));
	else
		http_reply_empty(q->reply, 204);
	request_free(q);
}

static int find_conversation(struct api_request *q, struct channel *c,
			     const char *peer, struct conversation_row *row,
			     struct err *e)
{
	struct conversation_find_in key = {c->name, peer, ""};
	int found = sql_get(supervisor_db(q->api->sup), Q_CONVERSATION_FIND,
			    &key, row, &q->arena, e);

	if (found == 0)
		return err_set(e, ERR_NOTFOUND, "there is no conversation '%s'",
			       quoted(peer).text);
	return found < 0 ? -1 : 0;
}

void route_channel_next(void *app, const struct http_request *r,
			struct http_reply *reply)
{
	struct api_request *q = request_new(app, r, reply);
	struct channel *c = channel_find(q->api->sup, http_param(r, "name"));
	const char *peer = http_query(r, "conversation");
	const char *ack = http_query(r, "ack");
	int64_t wait = 20000;
	struct conversation_row row;
	struct err e = {0};
	int rc = 0;

	if (!c || c->ops != &channel_pull)
		rc = err_set(&e, ERR_NOTFOUND,
			     "there is no pull channel '%s', or it is "
			     "disabled",
			     quoted(http_param(r, "name")).text);
	if (rc == 0)
		rc = http_query_i64(r, "wait", (int64_t[]){0, WAIT_MAX}, &wait,
				    &e) ||
		     find_conversation(q, c, peer, &row, &e);
	if (rc) {
		request_fail(q, &e);
		return;
	}
	if (ack)
		(void)pull_ack(c, ack);
	pull_wait(c, row.id, wait, reply_message, q);
}
