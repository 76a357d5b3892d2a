#include "supervisor/api/stream/internal.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"

#define BATCH_BYTES (32 << 10) /* sent to all subscribers at once */
/* time of one poll for lagging subscribers */
#define CATCH_UP_NS (INT64_C(5) * 1000000)

static void subscriber_unlink(struct subscriber *s)
{
	*s->link = s->next;
	if (s->next)
		s->next->link = s->link;
}

void subscriber_link(struct subscriber *s, struct subscriber **list)
{
	s->next = *list;
	s->link = list;
	if (s->next)
		s->next->link = &s->next;
	*list = s;
}

static void send_status(struct subscriber *s)
{
	struct event_stream *t = s->stream;

	if (s->status_sent != t->status_digest)
		http_stream_share(s->http, &t->status_frame, 1);
	s->status_sent = t->status_digest;
}

void subscriber_free(struct subscriber *s)
{
	subscriber_unlink(s);
	s->stream->source->close(s->reader);
	s->stream->api->nsubscribers--;
	free(s);
}

static void end_subscriber(struct subscriber *s)
{
	if (s->bundle)
		bundle_drop(s);
	else
		http_stream_end(s->http);
	subscriber_free(s);
}

void subscriber_send_error(struct http_stream *http, const struct err *e)
{
	struct buf b = BUF_MAX(4096);

	json_begin_object(&b);
	json_put_text(&b, "code", err_name(e->code));
	json_put_text(&b, "detail", e->text);
	json_end_object(&b);
	http_stream_send(
		http,
		&(struct sse_event){.event = "error", .data = b.p, .n = b.n});
	buf_fini(&b);
}

void subscriber_fail(struct subscriber *s, const struct err *e)
{
	subscriber_send_error(s->http, e);
	end_subscriber(s);
}

static int send_event(void *arg, const struct sse_event *ev)
{
	struct subscriber *s = arg;

	http_stream_send(s->http, ev);
	return http_stream_room(s->http) == 0;
}

/* All rows were sent. Returns whether the stream was complete and has ended. */
static bool finish_subscriber(struct subscriber *s)
{
	struct event_stream *t = s->stream;

	if (!t->over || !s->until_over || !t->source->finish ||
	    !t->source->finish(t, s->reader, send_event, s))
		return false;
	end_subscriber(s);
	return true;
}

/* --- caught up ------------------------------------------------------------ */

/* The subscriber reads for itself from the current position. */
static void mark_lagging(struct subscriber *s)
{
	struct event_stream *t = s->stream;
	struct err e;

	if (t->source->open(t->subject, t->cursor.p, &s->reader, &e))
		abort(); /* skepd wrote the cursor, so it is valid */
	subscriber_unlink(s);
	subscriber_link(s, &t->lagging);
}

/* Encodes an event once for all subscribers. */
static int add_to_batch(void *arg, const struct sse_event *ev)
{
	struct event_stream *t = arg;

	buf_clear(&t->ahead);
	buf_adds(&t->ahead, ev->id);
	sse_format(&t->batch, ev);
	t->in_batch++;
	return t->batch.n >= BATCH_BYTES;
}

static void publish_batch(struct event_stream *t)
{
	if (t->in_batch == 0)
		return;
	for (struct subscriber *s = t->caught_up, *after; s; s = after) {
		after = s->next;
		if (http_stream_room(s->http) > 0)
			http_stream_share(s->http, &t->batch, t->in_batch);
		else
			mark_lagging(s);
	}
	buf_clear(&t->cursor);
	buf_add(&t->cursor, t->ahead.p, t->ahead.n);
	buf_clear(&t->batch);
	t->in_batch = 0;
}

static int serve_caught_up(struct event_stream *t, struct err *e)
{
	int rc = 1;

	for (struct subscriber *s = t->caught_up; s; s = s->next)
		send_status(s);
	while (rc > 0 && t->caught_up) {
		rc = t->source->read(t->subject, t->reader, add_to_batch, t, e);
		publish_batch(t);
	}
	if (rc == 0)
		for (struct subscriber *s = t->caught_up, *after; s;
		     s = after) {
			after = s->next;
			finish_subscriber(s);
		}
	return rc < 0 ? -1 : 0;
}

/* --- lagging -------------------------------------------------------------- */

/* Whether the subscriber is at the position of those that are caught up. */
static bool at_shared_position(const struct subscriber *s)
{
	const struct event_stream *t = s->stream;
	struct buf here = BUF_MAX(1 << 20), there = BUF_MAX(1 << 20);
	bool same;

	t->source->cursor(s->reader, &here);
	t->source->cursor(t->reader, &there);
	same = strcmp(here.p, there.p) == 0;
	buf_fini(&here);
	buf_fini(&there);
	return same;
}

/* Moves the subscriber to those that are caught up, if it is at their
 * position. If there are none, it defines the position. */
static void join_caught_up(struct subscriber *s)
{
	struct event_stream *t = s->stream;

	if (!t->key)
		return; /* it keeps its reader */
	if (!t->caught_up) {
		t->source->close(t->reader);
		t->reader = s->reader;
		buf_clear(&t->cursor);
		t->source->cursor(t->reader, &t->cursor);
	} else if (at_shared_position(s)) {
		t->source->close(s->reader);
	} else {
		t->unfinished = true; /* new rows were committed meanwhile */
		return;
	}
	s->reader = NULL;
	subscriber_unlink(s);
	subscriber_link(s, &t->caught_up);
}

/* Sends rows until the buffer of the client is full or all are sent. */
static int catch_up(struct subscriber *s, struct err *e)
{
	struct event_stream *t = s->stream;
	int rc = 1;

	send_status(s);
	while (rc > 0 && http_stream_room(s->http) > 0)
		rc = t->source->read(t->subject, s->reader, send_event, s, e);
	if (rc == 0 && !finish_subscriber(s))
		join_caught_up(s);
	return rc < 0 ? -1 : 0;
}

static int serve_lagging(struct event_stream *t, struct err *e)
{
	int64_t until = clock_mono_ns() + CATCH_UP_NS;

	for (struct subscriber *s = t->lagging, *after; s; s = after) {
		after = s->next;
		if (http_stream_room(s->http) == 0)
			continue; /* on_writable polls again */
		if (catch_up(s, e))
			return -1;
		if (clock_mono_ns() > until) { /* leave time for other work */
			t->unfinished |= after != NULL;
			break;
		}
	}
	return 0;
}

int subscribers_serve(struct event_stream *t, struct err *e)
{
	return serve_caught_up(t, e) || serve_lagging(t, e) ? -1 : 0;
}
