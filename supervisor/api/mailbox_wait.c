#include "supervisor/api/mailbox_wait.h"

#include "schema/control/channel/mailbox.h"
#include "supervisor/core/supervisor.h"

#include <string.h>

struct mailbox_wait {
	struct mailbox_wait *next;
	struct api_request *request; /* its arena contains the wait */
	int64_t until_ms;            /* uv_now */
};

void mailbox_reply(struct api_request *q, int n, const struct message_row *rows)
{
	struct buf out = BUF_MAX(64u << 20);

	list_begin(&out);
	for (int i = 0; i < n; i++)
		list_item(&out, &message_row_shape, &rows[i]);
	list_end(&out, NULL);
	http_reply_json(q->reply, 200, out.p, out.n);
	buf_fini(&out);
	request_free(q);
}

/* True if it was answered. */
static bool reply_if_any(struct api_request *q)
{
	struct message_row *row;
	struct err e;
	int n = message_receive(supervisor_db(q->api->sup), q->id, q->key, &row,
				&q->arena, &e);

	if (n < 0)
		request_fail(q, &e);
	else if (n > 0)
		mailbox_reply(q, n, row);
	return n != 0;
}

void mailbox_receive(struct api_request *q)
{
	struct api *w = q->api;
	struct mailbox_wait *m;

	if (reply_if_any(q))
		return;
	if (q->limit == 0 || w->stopped) {
		mailbox_reply(q, 0, NULL);
		return;
	}
	m = arena_alloc(&q->arena, sizeof *m);
	*m = (struct mailbox_wait){w->mailbox_waits, q,
				   (int64_t)uv_now(&w->sup->loop) + q->limit};
	w->mailbox_waits = m;
}

static void answer_waits(struct supervisor *s, const struct hint *h)
{
	struct mailbox_wait **at = s->api ? &s->api->mailbox_waits : NULL;

	(void)h;
	while (at && *at) {
		struct mailbox_wait *m = *at, *next = m->next;

		if (reply_if_any(m->request))
			*at = next;
		else
			at = &m->next;
	}
}

static void end_waits(struct api *w, int64_t now)
{
	struct mailbox_wait **at = &w->mailbox_waits;

	while (*at) {
		struct mailbox_wait *m = *at;

		if (m->until_ms > now) {
			at = &m->next;
			continue;
		}
		*at = m->next;
		mailbox_reply(m->request, 0, NULL);
	}
}

void mailbox_wait_open(struct api *w)
{
	on_hint(w->sup, HINT_MAILBOX, answer_waits);
}

void mailbox_wait_tick(struct api *w)
{
	end_waits(w, (int64_t)uv_now(&w->sup->loop));
}

void mailbox_wait_stop(struct api *w)
{
	end_waits(w, INT64_MAX);
}
