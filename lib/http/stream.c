/* Event streams: the producer's functions; reply.c starts a stream. */
#include "lib/http/reply.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/http/conn.h"

void stream_orphan(struct http_stream *s)
{
	struct conn_core *k = s->core;

	s->next = k->orphans;
	s->link = &k->orphans;
	if (s->next)
		s->next->link = &s->next;
	k->orphans = s;
	k->wake(NULL, k->wake_arg);
}

static void leave_orphans(struct http_stream *s)
{
	*s->link = s->next;
	if (s->next)
		s->next->link = s->link;
}

void conn_orphans_close(struct conn_core *k)
{
	struct http_stream *next;

	for (struct http_stream *s = k->orphans; s; s = next) {
		next = s->next;
		leave_orphans(s);
		stream_lost(s);
	}
}

#define PARTS 3

/* One piece of a stream, in its own chunk; head has room for 24 bytes. */
static void frame(const struct conn *c, const struct buf *piece, char *head,
		  struct blob parts[PARTS])
{
	int n = snprintf(head, 24, "%zx\r\n", piece->n);

	parts[0] = (struct blob){head, c->http_1_0 ? 0 : (size_t)n};
	parts[1] = (struct blob){piece->p, piece->n};
	parts[2] = (struct blob){"\r\n", c->http_1_0 ? 0 : 2};
}

static void enqueue(struct conn *c, const struct blob parts[PARTS])
{
	if (c->out.n == 0)
		c->progress = clock_mono_ns();
	for (int i = 0; i < PARTS; i++)
		buf_add(&c->out, parts[i].p, parts[i].n);
	conn_wake(c);
}

static bool send_now(struct conn *c, const struct blob parts[PARTS])
{
	const struct conn_core *k = c->core;

	if (c->out.n > 0 || !k->send || !k->send(c, parts, PARTS))
		return false;
	c->progress = clock_mono_ns();
	return true;
}

static int put_events(struct http_stream *s, const struct buf *events,
		      int64_t count, bool at_once)
{
	struct conn *c = s->c;
	struct blob parts[PARTS];
	char head[24];

	/* One event larger than the queue is accepted if the queue is empty. */
	if (c->out.n && c->out.n + events->n > c->core->config.limits.queue) {
		stream_drop(s);
		return -1;
	}
	frame(c, events, head, parts);
	if (!at_once || !send_now(c, parts))
		enqueue(c, parts);
	metrics_add(c->core->metrics, HTTP_M_STREAM_EVENTS, NULL,
		    (double)count);
	return 0;
}

int http_stream_send(struct http_stream *s, const struct sse_event *ev)
{
	struct buf *b = &s->core->scratch;

	if (!s->c || s->c->kill)
		return -1;
	buf_clear(b);
	sse_format(b, ev);
	return put_events(s, b, 1, false);
}

int http_stream_share(struct http_stream *s, const struct buf *events,
		      int64_t count)
{
	return !s->c || s->c->kill ? -1 : put_events(s, events, count, true);
}

size_t http_stream_room(struct http_stream *s)
{
	struct conn *c = s->c;
	size_t half;

	if (!c || c->kill)
		return 0;
	half = c->core->config.limits.queue / 2;
	if (c->out.n < half)
		return half - c->out.n;
	s->waiting = true;
	return 0;
}

void http_stream_end(struct http_stream *s)
{
	struct conn *c = s->c;

	if (c) {
		if (!c->http_1_0)
			buf_adds(&c->out, "0\r\n\r\n");
		c->stream = NULL;
		metrics_add(c->core->metrics, HTTP_M_STREAMS, NULL, -1);
		conn_answered(c);
	} else {
		leave_orphans(s);
	}
	free(s);
}

void stream_lost(struct http_stream *s)
{
	if (s->c)
		metrics_add(s->core->metrics, HTTP_M_STREAMS, NULL, -1);
	if (s->ops->closed)
		s->ops->closed(s->arg);
	free(s);
}

void stream_resume(struct http_stream *s)
{
	if (!s->waiting || s->c->kill ||
	    s->c->out.n > s->core->config.limits.queue / 4)
		return;
	s->waiting = false;
	if (s->ops->writable)
		s->ops->writable(s->arg);
}

void stream_drop(struct http_stream *s)
{
	struct conn *c = s->c;

	metrics_add(c->core->metrics, HTTP_M_DROPPED, NULL, 1);
	log_warn(LT("msg", "slow reader dropped"), LT("who", c->principal.name),
		 LI("queued", c->out.n));
	c->kill = true;
	conn_wake(c);
}

void stream_beat(struct http_stream *s)
{
	struct blob parts[PARTS];
	char head[24];

	buf_clear(&s->core->scratch);
	sse_format_comment(&s->core->scratch, "beat");
	frame(s->c, &s->core->scratch, head, parts);
	enqueue(s->c, parts);
}
