#include "supervisor/api/stream/stream.h"
#include "supervisor/api/stream/internal.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/log.h"

#define POLLS 200 /* streams polled per tick of the timer */

static void link_stream(struct event_stream *t)
{
	struct api *w = t->api;

	if (w->streams) {
		t->next = w->streams;
		t->before = w->streams->before;
		t->before->next = t->next->before = t;
	} else {
		t->next = t->before = t;
		w->streams = t;
	}
	w->nstreams++;
}

static void stream_free(struct event_stream *t)
{
	struct api *w = t->api;

	if (w->streams == t)
		w->streams = t->next == t ? NULL : t->next;
	t->next->before = t->before;
	t->before->next = t->next;
	w->nstreams--;
	supervisor_unwatch(t->host_watch);
	supervisor_unwatch(t->run_watch);
	t->source->close(t->reader);
	t->source->free(t->subject);
	buf_fini(&t->cursor);
	buf_fini(&t->batch);
	buf_fini(&t->ahead);
	buf_fini(&t->status);
	buf_fini(&t->status_frame);
	free(t->key);
	free(t);
}

/* --- polling -------------------------------------------------------------- */

/* After the start of a stream, errors are sent as events. */
static void fail_stream(struct event_stream *t, const struct err *e)
{
	struct subscriber *lists[] = {t->caught_up, t->lagging};

	log_warn(LT("msg", "event stream failed"), LT("why", e->text));
	for (int i = 0; i < 2; i++)
		for (struct subscriber *s = lists[i], *after; s; s = after) {
			after = s->next;
			subscriber_fail(s, e);
		}
}

static void poll_stream(void *arg, const struct err *failed)
{
	struct event_stream *t = arg;
	struct err e = {0};

	t->poll_pending = t->unfinished = false;
	if (failed)
		return; /* the next commit or the timer polls again */
	if (t->source->refresh(t, &e) || subscribers_serve(t, &e))
		fail_stream(t, &e);
	if (!t->caught_up && !t->lagging && !t->poll_pending)
		stream_free(t);
	else if (t->unfinished)
		api_poll_soon(t->api);
}

static void schedule_poll(struct event_stream *t)
{
	if (t->poll_pending)
		return;
	t->poll_pending = true;
	supervisor_after_commit(t->api->sup, poll_stream, t);
}

static void on_change(void *arg)
{
	schedule_poll(arg);
}

/* Only an active run can be watched, so the watch is renewed whenever run,
 * state or attempt changed. */
void stream_watch_run(struct event_stream *t, const struct run_row *row)
{
	int64_t now = row->attempt * RUN_STATES + run_state_from(row->state);

	if (t->run_watch && t->watched_in == now &&
	    strcmp(t->watched, row->id) == 0)
		return;
	supervisor_unwatch(t->run_watch);
	t->run_watch = supervisor_watch(t->api->sup, row->id, on_change, t);
	t->watched_in = now;
	snprintf(t->watched, sizeof t->watched, "%s", row->id);
}

void stream_set_status(struct event_stream *t)
{
	const struct buf *b = &t->status;

	buf_clear(&t->status_frame);
	sse_format(&t->status_frame, &(struct sse_event){.event = "status",
							 .data = b->p,
							 .n = b->n});
	t->status_digest = UINT64_C(0xcbf29ce484222325);
	for (size_t i = 0; i < b->n; i++)
		t->status_digest = (t->status_digest ^ (unsigned char)b->p[i]) *
				   UINT64_C(0x100000001b3);
}

/* --- subscribing ------------------------------------------------------- */

/* The next poll frees a stream without subscribers. */
void subscriber_closed(struct subscriber *s)
{
	struct event_stream *t = s->stream;

	subscriber_free(s);
	if (!t->caught_up && !t->lagging)
		schedule_poll(t);
}

void subscriber_writable(struct subscriber *s)
{
	if (s->reader)
		schedule_poll(s->stream);
}

static void on_closed(void *arg)
{
	subscriber_closed(arg);
}

static void on_writable(void *arg)
{
	subscriber_writable(arg);
}

static struct event_stream *find_stream(struct api *w,
					const struct stream_request *want)
{
	struct event_stream *t = w->streams;

	for (int64_t i = 0; want->key && i < w->nstreams; i++, t = t->next)
		if (t->source == want->source && t->key &&
		    strcmp(t->key, want->key) == 0)
			return t;
	return NULL;
}

/* Takes want->subject. */
static struct event_stream *find_or_create_stream(
	struct api *w, const struct stream_request *want)
{
	struct event_stream *t = find_stream(w, want);

	if (t) {
		want->source->free(want->subject);
		return t;
	}
	t = calloc(1, sizeof *t);
	if (!t)
		abort();
	t->api = w;
	t->source = want->source;
	t->subject = want->subject;
	t->key = want->key ? strdup(want->key) : NULL;
	buf_init(&t->cursor, 1 << 20);
	buf_init(&t->ahead, 1 << 20);
	buf_init(&t->batch, (size_t)512 << 20);
	buf_init(&t->status, 64 << 10);
	buf_init(&t->status_frame, 128 << 10);
	link_stream(t);
	t->host_watch = supervisor_watch(w->sup, NULL, on_change, t);
	return t;
}

int stream_subscribe(struct api *w, const struct stream_request *want,
		     struct http_reply *reply, struct err *e)
{
	static const struct http_stream_ops ops = {on_writable, on_closed};
	struct subscriber *s;
	void *reader;

	if (want->source->open(want->subject, want->after, &reader, e)) {
		want->source->free(want->subject);
		return -1;
	}
	s = calloc(1, sizeof *s);
	if (!s)
		abort();
	s->reader = reader;
	s->until_over = want->until_over;
	s->stream = find_or_create_stream(w, want);
	subscriber_link(s, &s->stream->lagging);
	w->nsubscribers++;
	if (want->source->header[0] && reply)
		http_reply_header(reply, want->source->header[0],
				  want->source->header[1]);
	if (want->bundle)
		bundle_add(want->bundle, s);
	else
		s->http = http_reply_stream(reply, &ops, s);
	schedule_poll(s->stream);
	return 0;
}

/* --- timers -------------------------------------------------------------- */

void streams_poll(struct api *w)
{
	for (int i = 0; i < POLLS && i < w->nstreams; i++) {
		schedule_poll(w->streams);
		w->streams = w->streams->next;
	}
}

void streams_poll_unfinished(struct api *w)
{
	struct event_stream *t = w->streams;

	for (int64_t i = 0; i < w->nstreams; i++, t = t->next)
		if (t->unfinished)
			schedule_poll(t);
}

void streams_close(struct api *w)
{
	while (w->streams)
		stream_free(w->streams);
}
