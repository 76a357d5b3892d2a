#include "supervisor/api/stream/stream_subscriber.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/log.h"

#define POLLS 100 /* shared streams polled per tick of the timer */

static void link_shared_stream(struct shared_stream *t)
{
	struct api *w = t->api;

	if (w->shared) {
		t->next = w->shared;
		t->before = w->shared->before;
		t->before->next = t->next->before = t;
	} else {
		t->next = t->before = t;
		w->shared = t;
	}
	w->nshared++;
}

static void free_shared_stream(struct shared_stream *t)
{
	struct api *w = t->api;

	if (w->shared == t)
		w->shared = t->next == t ? NULL : t->next;
	t->next->before = t->before;
	t->before->next = t->next;
	w->nshared--;
	supervisor_unwatch(t->host_watch);
	supervisor_unwatch(t->run_watch);
	tail_close(t->tail);
	buf_fini(&t->cursor);
	buf_fini(&t->batch);
	buf_fini(&t->ahead);
	buf_fini(&t->status_frame);
	buf_fini(&t->status);
	buf_fini(&t->data);
	free(t->agent);
	free(t->session);
	free(t->run);
	free(t);
}

/* --- polling -------------------------------------------------------------- */

static void poll_shared_stream(void *arg, const struct err *failed);

static void shared_stream_schedule(struct shared_stream *t)
{
	if (t->poll_pending)
		return;
	t->poll_pending = true;
	supervisor_after_commit(t->api->sup, poll_shared_stream, t);
}

static void on_change(void *arg)
{
	shared_stream_schedule(arg);
}

/* Only an active run can be watched, so the watch is renewed whenever run,
 * state or attempt changed. */
static void watch_run(struct shared_stream *t, const struct run_row *row)
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

static void write_status(struct shared_stream *t, const struct run_row *row)
{
	struct buf *b = &t->status;
	struct run_activity live = {0};

	buf_clear(b);
	json_begin_object(b);
	json_put_text(b, "state", row ? row->state : "idle");
	if (row) {
		json_put_nullable(b, "run", row->id);
		json_put_int(b, "attempt", row->attempt);
		json_put_nullable(b, "reason", row->reason);
		json_put_nullable(b, "detail", row->detail);
		if (supervisor_run_activity(t->api->sup, row->id, &live))
			json_put_nullable(b, "phase", live.phase);
	}
	json_end_object(b);
	buf_clear(&t->status_frame);
	sse_format(&t->status_frame, &(struct sse_event){.event = "status",
							 .data = b->p,
							 .n = b->n});
	t->status_digest = UINT64_C(0xcbf29ce484222325);
	for (size_t i = 0; i < b->n; i++)
		t->status_digest = (t->status_digest ^ (unsigned char)b->p[i]) *
				   UINT64_C(0x100000001b3);
}

/* Reads the status of the run, or of the next run of the session, and whether
 * more can come. It is read before the rows, so that a run that is over has
 * written everything. */
static int read_status(struct shared_stream *t, struct err *e)
{
	struct sql *db = supervisor_db(t->api->sup);
	struct run_get_in in = {t->run};
	struct run_queue_state_row queue = {0};
	struct arena a = {0};
	struct run_row row;
	int found = 1;

	if (!t->run) {
		struct run_queue_state_in key = {t->agent, t->session};

		found = sql_get(db, Q_RUN_QUEUE_STATE, &key, &queue, &a, e);
		in.id = queue.next;
	}
	if (found > 0)
		found = in.id ? sql_get(db, Q_RUN_GET, &in, &row, &a, e) : 0;
	if (found > 0)
		watch_run(t, &row);
	if (found >= 0)
		write_status(t, found ? &row : NULL);
	t->over = found == 0 ||
		  (found > 0 &&
		   run_state_is_over(
			   (enum run_state)run_state_from(row.state)));
	arena_fini(&a);
	return found < 0 ? -1 : 0;
}

/* After the start of a stream, errors are sent as events. */
static void fail(struct shared_stream *t, const struct err *e)
{
	struct subscriber *lists[] = {t->caught_up, t->lagging};

	log_warn(LT("msg", "shared event stream failed"), LT("why", e->text));
	buf_clear(&t->data);
	json_begin_object(&t->data);
	json_put_text(&t->data, "code", err_name(e->code));
	json_put_text(&t->data, "detail", e->text);
	json_end_object(&t->data);
	for (int i = 0; i < 2; i++)
		for (struct subscriber *s = lists[i], *after; s; s = after) {
			after = s->next;
			subscriber_send(s, NULL, "error", &t->data);
			http_stream_end(s->stream);
			subscriber_free(s);
		}
}

static void poll_shared_stream(void *arg, const struct err *failed)
{
	struct shared_stream *t = arg;
	struct api *w = t->api;
	struct agent_file *file = NULL;
	struct err e = {0};

	t->poll_pending = t->poll_again = false;
	if (failed)
		return; /* the next commit or the timer polls again */
	if (read_status(t, &e) ||
	    agent_files_get(&w->files, supervisor_db(w->sup), t->agent, &file,
			    &e) < 0 ||
	    subscribers_serve(t, file, &e))
		fail(t, &e);
	if (!t->caught_up && !t->lagging && !t->poll_pending)
		free_shared_stream(t);
	else if (t->poll_again)
		api_poll_soon(w);
}

/* --- subscribers
 * ------------------------------------------------------------ */

/* The next poll frees a stream without subscribers. */
static void on_closed(void *arg)
{
	struct subscriber *s = arg;
	struct shared_stream *t = s->shared;

	subscriber_free(s);
	if (!t->caught_up && !t->lagging)
		shared_stream_schedule(t);
}

static void on_writable(void *arg)
{
	struct subscriber *s = arg;

	if (s->tail)
		shared_stream_schedule(s->shared);
}

static bool matches(const struct shared_stream *t,
		    const struct shared_stream_request *want)
{
	return strcmp(t->agent, want->agent) == 0 &&
	       strcmp(t->session, want->session) == 0 &&
	       !t->run == !want->run &&
	       (!t->run || strcmp(t->run, want->run) == 0);
}

static struct shared_stream *find_or_create_shared(
	struct api *w, const struct shared_stream_request *want)
{
	struct shared_stream *t = w->shared;

	for (int64_t i = 0; i < w->nshared; i++, t = t->next)
		if (matches(t, want))
			return t;
	t = calloc(1, sizeof *t);
	if (!t)
		abort();
	t->api = w;
	t->agent = strdup(want->agent);
	t->session = strdup(want->session);
	t->run = want->run ? strdup(want->run) : NULL;
	buf_init(&t->cursor, 1 << 20);
	buf_init(&t->ahead, 1 << 20);
	buf_init(&t->batch, (size_t)512 << 20);
	buf_init(&t->status, 64 << 10);
	buf_init(&t->status_frame, 128 << 10);
	buf_init(&t->data, (size_t)256 << 20);
	link_shared_stream(t);
	t->host_watch = supervisor_watch(w->sup, NULL, on_change, t);
	return t;
}

int shared_stream_subscribe(struct api *w,
			    const struct shared_stream_request *want,
			    struct http_reply *reply, struct err *e)
{
	static const struct http_stream_ops ops = {on_writable, on_closed};
	struct tail_options start = {want->session, want->run, want->after};
	struct subscriber *s;
	struct tail *tail;

	if (tail_open(&tail, &start, e))
		return -1;
	s = calloc(1, sizeof *s);
	if (!s)
		abort();
	s->tail = tail;
	s->until_idle = want->until_idle;
	s->shared = find_or_create_shared(w, want);
	subscriber_link(s, &s->shared->lagging);
	w->nfollowers++;
	s->stream = http_reply_stream(reply, &ops, s);
	shared_stream_schedule(s->shared);
	return 0;
}

void shared_streams_close(struct api *w)
{
	while (w->shared)
		free_shared_stream(w->shared);
}

void shared_streams_poll(struct api *w)
{
	for (int i = 0; i < POLLS && i < w->nshared; i++) {
		shared_stream_schedule(w->shared);
		w->shared = w->shared->next;
	}
}
