/* Channels, bindings and conversations; inbound messages; polling clients. */
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/text.h"
#include "schema/control/cursor.h"
#include "supervisor/api/list.h"
#include "supervisor/api/request.h"
#include "supervisor/api/routes.h"
#include "supervisor/channel/commands.h"
#include "supervisor/channel/inbound.h"
#include "supervisor/channel/pull.h"
#include "supervisor/channel/webhook/receive.h"

#define WAIT_MAX       60000
#define CLOSED_SECONDS "60" /* Retry-After for a closed channel */

static int read_channels(struct api_request *q, struct buf *out, struct err *e)
{
	return api_list(q, Q_CHANNEL_LIST, NULL, out, e);
}

void route_channels(struct api_request *q)
{
	request_read(q, read_channels);
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

void route_channel_show(struct api_request *q)
{
	q->key = request_param(q, "name");
	request_read(q, read_channel);
}

void route_channel_put(struct api_request *q, const char *body)
{
	struct err e = {0};

	q->key = request_param(q, "name");
	q->read = read_channel;
	request_command(q,
			supervisor_channel_put(q->api->sup, q->key, body, q->by,
					       request_done(q), &e),
			&e);
}

void route_channel_delete(struct api_request *q)
{
	struct err e = {0};

	request_command(q,
			supervisor_channel_delete(q->api->sup,
						  http_param(q->http, "name"),
						  q->by, request_done(q), &e),
			&e);
}

void route_channel_switch(struct api_request *q)
{
	struct err e = {0};

	request_command(q,
			supervisor_channel_switch(q->api->sup,
						  http_param(q->http, "name"),
						  http_param(q->http, "verb"),
						  q->by, request_done(q), &e),
			&e);
}

/* --- bindings and conversations --------------------------------------- */

static int read_bindings(struct api_request *q, struct buf *out, struct err *e)
{
	struct binding_list_in in = {q->key};

	return api_list(q, Q_BINDING_LIST, &in, out, e);
}

void route_bindings(struct api_request *q)
{
	q->key = request_param(q, "name");
	request_read(q, read_bindings);
}

static int read_held(struct api_request *q, struct buf *out, struct err *e)
{
	struct held_list_in in = {q->key, 0};

	return api_list(q, Q_HELD_LIST, &in, out, e);
}

void route_agent_held(struct api_request *q)
{
	q->key = request_param(q, "name");
	request_read(q, read_held);
}

void route_held_confirm(struct api_request *q,
			const struct held_confirm_body *body)
{
	struct held_choice choice = {.agent = http_param(q->http, "name"),
				     .number = body->number,
				     .discard = body->discard,
				     .by = q->by};
	struct err e = {0};

	request_command(q,
			supervisor_held_confirm(q->api->sup, &choice,
						request_done(q), &e),
			&e);
}

void route_binding_put(struct api_request *q, const struct binding_row *body)
{
	struct binding_row b = *body;
	struct err e = {0};

	b.channel = request_param(q, "name");
	request_command(q,
			supervisor_binding_put(q->api->sup, &b, q->by,
					       request_done(q), &e),
			&e);
}

void route_binding_delete(struct api_request *q,
			  const struct binding_delete_body *body)
{
	struct binding_row b = {.channel = request_param(q, "name"),
				.peer = body->peer,
				.kind = body->kind};
	struct err e = {0};

	request_command(q,
			supervisor_binding_delete(q->api->sup, &b, q->by,
						  request_done(q), &e),
			&e);
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

void route_conversations(struct api_request *q)
{
	if (request_limit(q))
		return;
	q->from = request_query(q, "before");
	q->filter[0] = request_query(q, "channel");
	request_read(q, read_conversations);
}

/* --- coming in -------------------------------------------------------- */

/* id: the signed id of an external message; NULL: the client is
 * authenticated. */
static void accept_inbound(struct api_request *q, const char *channel,
			   const char *id, const cJSON *json)
{
	struct inbound_message m = {0};
	struct err e = {0};
	int rc = inbound_message_read(&m, json, &e);

	if (rc == 0 && id)
		rc = inbound_message_from_outside(&m, &e);
	if (rc == 0 && !m.external_id)
		m.external_id = id;
	if (rc == 0)
		rc = inbound_accept(q->api->sup, channel, &m, request_done(q),
				    &e);
	request_command(q, rc, &e);
	inbound_message_fini(&m);
}

/* For clients that may start runs. */
void route_channel_message(struct api_request *q, const cJSON *body)
{
	accept_inbound(q, http_param(q->http, "name"), NULL, body);
}

/* For external senders, authenticated by the signature. */
void route_channel_in(struct api_request *q, struct blob body)
{
	const char *name = request_param(q, "name");
	struct webhook_claim claim = {
		.id = http_header_once(q->http, "webhook-id"),
		.timestamp = http_header_once(q->http, "webhook-timestamp"),
		.signatures = http_header_once(q->http, "webhook-signature"),
		.body = body,
		.now_ms = clock_now(),
	};
	struct err e = {0};
	cJSON *json = NULL;

	q->by = arena_printf(&q->arena, "channel:%s", name);
	if (webhook_admit(q->api->sup, name, &claim, &e) == 0)
		json = json_parse_object("message", body.p, body.n, &e);
	if (json)
		accept_inbound(q, name, claim.id, json);
	cJSON_Delete(json);
	if (json)
		return;
	if (e.code == ERR_BUSY)
		http_reply_header(q->reply, "Retry-After", CLOSED_SECONDS);
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

void route_channel_next(struct api_request *q)
{
	struct channel *c = channel_find(q->api->sup,
					 http_param(q->http, "name"));
	const char *peer = http_query(q->http, "conversation");
	const char *ack = http_query(q->http, "ack");
	int64_t wait = 20000;
	struct conversation_row row;
	struct err e = {0};
	int rc = 0;

	if (!c || c->ops != &channel_pull)
		rc = err_set(&e, ERR_NOTFOUND,
			     "there is no pull channel '%s', or it is "
			     "disabled",
			     quoted(http_param(q->http, "name")).text);
	if (rc == 0)
		rc = http_query_i64(q->http, "wait", (int64_t[]){0, WAIT_MAX},
				    &wait, &e) ||
		     find_conversation(q, c, peer, &row, &e);
	if (rc) {
		request_fail(q, &e);
		return;
	}
	if (ack)
		(void)pull_ack(c, ack);
	pull_wait(c, row.id, wait, reply_message, q);
}
