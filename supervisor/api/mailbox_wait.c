#include "supervisor/api/mailbox_wait.h"

#include "schema/control/channel/mailbox.h"
#include "supervisor/core/supervisor.h"

#include <string.h>

struct mail_wait {
	struct mail_wait *next;
	struct api_request *ask; /* in whose arena it is */
	int64_t until_ms;        /* uv_now */
};

void mail_give(struct api_request *q, int n, const struct message_row *rows)
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
static bool try_give(struct api_request *q)
{
	struct message_row *row;
	struct err e;
	int n = message_receive(supervisor_db(q->api->sup), q->id, q->key, &row,
				&q->arena, &e);

	if (n < 0)
		request_fail(q, &e);
	else if (n > 0)
		mail_give(q, n, row);
	return n != 0;
}

void mail_receive(struct api_request *q)
{
	struct api *w = q->api;
	struct mail_wait *m;

	if (try_give(q))
		return;
	if (q->limit == 0 || w->stopped) {
		mail_give(q, 0, NULL);
		return;
	}
	m = arena_alloc(&q->arena, sizeof *m);
	*m = (struct mail_wait){w->mail, q,
				(int64_t)uv_now(&w->sup->loop) + q->limit};
	w->mail = m;
}

static void answer_waits(struct supervisor *s, const struct hint *h)
{
	struct mail_wait **at = s->api ? &s->api->mail : NULL;

	(void)h;
	while (at && *at) {
		struct mail_wait *m = *at, *next = m->next;

		if (try_give(m->ask))
			*at = next;
		else
			at = &m->next;
	}
}

static void end_waits(struct api *w, int64_t now)
{
	struct mail_wait **at = &w->mail;

	while (*at) {
		struct mail_wait *m = *at;

		if (m->until_ms > now) {
			at = &m->next;
			continue;
		}
		*at = m->next;
		mail_give(m->ask, 0, NULL);
	}
}

void mail_open(struct api *w)
{
	on_hint(w->sup, HINT_MAILBOX, answer_waits);
}

void mail_tick(struct api *w)
{
	end_waits(w, (int64_t)uv_now(&w->sup->loop));
}

void mail_stop(struct api *w)
{
	end_waits(w, INT64_MAX);
}
