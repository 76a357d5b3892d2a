#include "supervisor/api/stream/stream_subscriber.h"

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

int subscriber_send(struct subscriber *s, const char *id, const char *event,
		    const struct buf *data)
{
	struct sse_event ev = {
		.id = id, .event = event, .data = data->p, .n = data->n};

	return http_stream_send(s->stream, &ev);
}

static void send_status(struct subscriber *s)
{
	struct shared_stream *t = s->shared;

	if (s->status_sent != t->status_digest)
		http_stream_share(s->stream, &t->status_frame, 1);
	s->status_sent = t->status_digest;
}

void subscriber_free(struct subscriber *s)
{
	subscriber_unlink(s);
	tail_close(s->tail);
	s->shared->api->nfollowers--;
	free(s);
}

static bool is_complete(const struct subscriber *s)
{
	return s->shared->over && (s->shared->run || s->until_idle);
}

static void end_subscriber(struct subscriber *s)
{
	subscriber_send(s, NULL, "end", &s->shared->status);
	http_stream_end(s->stream);
	subscriber_free(s);
}

static void write_item(struct shared_stream *t, const struct tail_item *item)
{
	buf_clear(&t->data);
	if (item->event) {
		stream_event_json(&t->data, item->event);
		json_end_object(&t->data);
	} else {
		stream_part_json(&t->data, item);
	}
}

static const char *name_of(const struct tail_item *item)
{
	return item->event ? "event" : "part";
}

/* The subscriber reads for itself from the current position. */
static void mark_lagging(struct subscriber *s)
{
	struct shared_stream *t = s->shared;
	struct tail_options want = {t->session, t->run, t->cursor.p};
	struct err e;

	if (tail_open(&s->tail, &want, &e))
		abort(); /* skepd wrote the cursor, so it is valid */
	subscriber_unlink(s);
	subscriber_link(s, &t->lagging);
}

/* Encodes an item once for all subscribers. */
static int add_to_batch(void *arg, const struct tail *tail,
			const struct tail_item *item)
{
	struct shared_stream *t = arg;

	write_item(t, item);
	buf_clear(&t->ahead);
	tail_cursor(tail, &t->ahead);
	sse_format(&t->batch, &(struct sse_event){.id = t->ahead.p,
						  .event = name_of(item),
						  .data = t->data.p,
						  .n = t->data.n});
	t->in_batch++;
	return t->batch.n >= BATCH_BYTES;
}

static void publish_batch(struct shared_stream *t)
{
	if (t->in_batch == 0)
		return;
	for (struct subscriber *s = t->caught_up, *after; s; s = after) {
		after = s->next;
		if (http_stream_room(s->stream) > 0)
			http_stream_share(s->stream, &t->batch, t->in_batch);
		else
			mark_lagging(s);
	}
	buf_clear(&t->cursor);
	buf_add(&t->cursor, t->ahead.p, t->ahead.n);
	buf_clear(&t->batch);
	t->in_batch = 0;
}

static int send_item(void *arg, const struct tail *tail,
		     const struct tail_item *item)
{
	struct subscriber *s = arg;
	struct buf id = BUF_MAX(1 << 20);

	write_item(s->shared, item);
	tail_cursor(tail, &id);
	subscriber_send(s, id.p, name_of(item), &s->shared->data);
	buf_fini(&id);
	return http_stream_room(s->stream) == 0;
}

/* Moves the subscriber to those that are caught up, if it is at their
 * position. */
static void join_caught_up(struct subscriber *s)
{
	struct shared_stream *t = s->shared;
	struct buf here = BUF_MAX(1 << 20);

	tail_cursor(s->tail, &here);
	if (!t->caught_up) {
		tail_close(t->tail);
		t->tail = s->tail;
		s->tail = NULL;
		buf_clear(&t->cursor);
		buf_add(&t->cursor, here.p, here.n);
	} else if (strcmp(here.p, t->cursor.p) == 0) {
		tail_close(s->tail);
		s->tail = NULL;
	} else {
		t->poll_again = true; /* new rows were committed meanwhile */
	}
	if (!s->tail) {
		subscriber_unlink(s);
		subscriber_link(s, &t->caught_up);
	}
	buf_fini(&here);
}

/* Returns 1 if the subscriber got all rows, 0 if its buffer is full, or -1. */
static int catch_up(struct subscriber *s, struct agent_file *file,
		    struct err *e)
{
	int rc = 1;

	send_status(s);
	while (rc > 0 && http_stream_room(s->stream) > 0)
		rc = file ? tail_read(s->tail, file, send_item, s, e) : 0;
	if (rc)
		return rc < 0 ? -1 : 0;
	if (is_complete(s))
		end_subscriber(s);
	else
		join_caught_up(s);
	return 1;
}

static int serve_lagging(struct shared_stream *t, struct agent_file *file,
			 struct err *e)
{
	int64_t until = clock_mono_ns() + CATCH_UP_NS;

	for (struct subscriber *s = t->lagging, *after; s; s = after) {
		after = s->next;
		if (http_stream_room(s->stream) == 0)
			continue; /* on_writable polls again */
		if (catch_up(s, file, e) < 0)
			return -1;
		if (clock_mono_ns() > until) { /* leave time for other work */
			t->poll_again = t->lagging != NULL;
			break;
		}
	}
	return 0;
}

static int serve_caught_up(struct shared_stream *t, struct agent_file *file,
			   struct err *e)
{
	int rc = 1;

	for (struct subscriber *s = t->caught_up; s; s = s->next)
		send_status(s);
	while (rc > 0 && t->caught_up) {
		rc = file ? tail_read(t->tail, file, add_to_batch, t, e) : 0;
		publish_batch(t);
	}
	if (rc == 0)
		for (struct subscriber *s = t->caught_up, *after; s;
		     s = after) {
			after = s->next;
			if (is_complete(s))
				end_subscriber(s);
		}
	return rc < 0 ? -1 : 0;
}

int subscribers_serve(struct shared_stream *t, struct agent_file *file,
		      struct err *e)
{
	return serve_caught_up(t, file, e) || serve_lagging(t, file, e) ? -1
									: 0;
}
