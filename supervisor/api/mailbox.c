/* Messages between sessions. */
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/text.h"
#include "schema/control/channel/mailbox.h"
#include "supervisor/api/list.h"
#include "supervisor/api/mailbox_wait.h"
#include "supervisor/api/request.h"
#include "supervisor/api/routes.h"
#include "supervisor/core/supervisor.h"

struct sent {
	struct supervisor *sup;
	const char *agent, *session; /* NULL: a room */
};

static void hint_mailbox(void *arg, const struct err *failed)
{
	const struct sent *m = arg;

	if (!failed)
		send_hint(m->sup, &(struct hint){.kind = HINT_MAILBOX,
						 .agent = m->agent,
						 .session = m->session});
}

static void hint_later(struct supervisor *s, const struct message_new *m)
{
	struct sent *sent = txn_alloc(&s->txn, sizeof *sent);

	*sent = (struct sent){.sup = s};
	if (m->agent) {
		sent->agent = txn_text(&s->txn, m->agent);
		sent->session = txn_text(&s->txn, m->session);
	}
	txn_on_commit(&s->txn, hint_mailbox, sent);
}

static int send_message(struct api_request *q,
			const struct message_send_body *l, struct err *e)
{
	struct supervisor *s = q->api->sup;
	struct message_new m = {
		.source_key = l->key,
		.sender = l->sender ? l->sender : q->by,
		.room = l->room,
		.body = l->text,
	};
	struct id id;
	int made;

	if ((l->to &&
	     (message_address(l->to, &m.agent, &m.session, &q->arena, e) ||
	      supervisor_agent_check(s, m.agent, e))) ||
	    (l->key && text_check_key("key", l->key, 256, e)) ||
	    text_check_key("sender", m.sender, 512, e) || txn_begin(&s->txn, e))
		return -1;
	made = message_send(s->db, &m, &id, e);
	if (made >= 0)
		hint_later(s, &m);
	if (made >= 0)
		complete_later(s, request_done(q), id.text, made == 1,
			       made ? "sent" : "known");
	return made < 0 ? -1 : 0;
}

void route_message_send(struct api_request *q,
			const struct message_send_body *body)
{
	struct err e = {0};

	txn_try_begin(&q->api->sup->txn);
	request_command(
		q,
		txn_try_end(&q->api->sup->txn, send_message(q, body, &e), &e),
		&e);
}

static int read_messages(struct api_request *q, struct buf *out, struct err *e)
{
	struct message_filter in = {q->key, q->filter[0], q->from, q->limit};

	return api_page(q, in.session ? Q_MESSAGE_LIST_SESSION : Q_MESSAGE_LIST,
			&in, "id", out, e);
}

void route_message_list(struct api_request *q)
{
	if (request_limit(q) || request_before(q, ID_MESSAGE))
		return;
	q->key = request_param(q, "agent");
	q->filter[0] = request_query(q, "session");
	request_read(q, read_messages);
}

/* The response contains the rows that the transaction marked. */
struct collected {
	struct api_request *request;
	struct message_row *rows;
	int n;
};

static void reply_messages(void *arg, const struct err *failed)
{
	struct collected *c = arg;

	if (failed)
		request_fail(c->request, failed);
	else
		mailbox_reply(c->request, c->n, c->rows);
}

void route_message_read(struct api_request *q)
{
	struct supervisor *s = q->api->sup;
	struct collected *c = arena_alloc(&q->arena, sizeof *c);
	struct err e = {0};

	if (request_limit(q))
		return;
	*c = (struct collected){q, NULL, -1};
	txn_try_begin(&s->txn);
	if (txn_begin(&s->txn, &e) == 0)
		c->n = message_collect(s->db, http_param(q->http, "agent"),
				       http_param(q->http, "session"),
				       (int)q->limit, &c->rows, &q->arena, &e);
	c->n = txn_try_end(&s->txn, c->n, &e);
	if (c->n < 0)
		request_fail(q, &e);
	else
		txn_on_commit(&s->txn, reply_messages, c);
}

static void acknowledged(void *arg, const struct err *failed)
{
	struct api_request *q = arg;

	if (failed)
		request_fail(q, failed);
	else
		mailbox_receive(q);
}

void route_message_receive(struct api_request *q)
{
	struct supervisor *s = q->api->sup;
	const char *ack = request_query(q, "ack");
	struct err e = {0};
	int rc;

	q->id = request_param(q, "agent");
	q->key = request_param(q, "session");
	q->limit = 0;
	rc = http_query_i64(q->http, "wait", (int64_t[]){0, MAILBOX_WAIT_MAX},
			    &q->limit, &e);
	txn_try_begin(&s->txn);
	if (rc == 0)
		rc = txn_begin(&s->txn, &e);
	if (rc == 0 && ack)
		rc = message_ack(s->db, q->id, q->key, ack, &e);
	rc = txn_try_end(&s->txn, rc, &e);
	if (rc)
		request_fail(q, &e);
	else
		txn_on_commit(&s->txn, acknowledged, q);
}

/* --- rooms ------------------------------------------------------------ */

static int read_rooms(struct api_request *q, struct buf *out, struct err *e)
{
	struct room_list_in in = {q->filter[0]};

	return api_list(q, Q_ROOM_LIST, &in, out, e);
}

void route_rooms(struct api_request *q)
{
	q->filter[0] = request_query(q, "room");
	request_read_async(q, read_rooms); /* unread messages are counted */
}

void route_room_join(struct api_request *q)
{
	struct room_join_in in = {http_param(q->http, "room"),
				  http_param(q->http, "agent"),
				  http_param(q->http, "session"), clock_now()};
	struct supervisor *s = q->api->sup;
	struct err e = {0};

	txn_try_begin(&s->txn);
	if (txn_try_end(&s->txn, supervisor_agent_check(s, in.agent, &e), &e)) {
		request_fail(q, &e);
		return;
	}
	request_exec(q, &(struct request_change){.query = Q_ROOM_JOIN,
						 .in = &in,
						 .id = in.room,
						 .note = "joined",
						 .unchanged = "no change"});
}

void route_room_leave(struct api_request *q)
{
	struct room_leave_in in = {http_param(q->http, "room"),
				   http_param(q->http, "agent"),
				   http_param(q->http, "session")};

	request_exec(q, &(struct request_change){.query = Q_ROOM_LEAVE,
						 .in = &in,
						 .id = in.room,
						 .note = "left",
						 .unchanged = "no change"});
}
