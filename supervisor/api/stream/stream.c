#include "supervisor/api/stream/stream.h"

#include <stdlib.h>

#include "lib/base/log.h"

#define POLLS 100 /* followers polled per tick of the timer */

static void link_follower(struct follower *f)
{
	struct api *w = f->api;

	if (w->followers) {
		f->next = w->followers;
		f->before = w->followers->before;
		f->before->next = f->next->before = f;
	} else {
		f->next = f->before = f;
		w->followers = f;
	}
	w->nfollowers++;
	w->nprivate++;
}

static void unlink_follower(struct follower *f)
{
	struct api *w = f->api;

	if (w->followers == f)
		w->followers = f->next == f ? NULL : f->next;
	f->next->before = f->before;
	f->before->next = f->next;
	w->nfollowers--;
	w->nprivate--;
}

static void follower_free(struct follower *f)
{
	if (f->ops->free)
		f->ops->free(f);
	tail_close(f->tail);
	free(f->agent);
	free(f);
}

/* The client disconnected, or the stream is complete. */
static void close_follower(struct follower *f)
{
	supervisor_unwatch(f->watch);
	supervisor_unwatch(f->run_watch);
	unlink_follower(f);
	f->closed = true;
	if (!f->poll_pending)
		follower_free(f);
}

static void on_closed(void *arg)
{
	close_follower(arg);
}

/* After the start of a stream, errors are sent as events. */
static void fail(struct follower *f, const struct err *e)
{
	struct buf b = BUF_MAX(4096);

	log_warn(LT("msg", "event stream failed"), LT("why", e->text));
	json_begin_object(&b);
	json_put_text(&b, "code", err_name(e->code));
	json_put_text(&b, "detail", e->text);
	json_end_object(&b);
	follower_send(f, NULL, "error", &b);
	buf_fini(&b);
	http_stream_end(f->stream);
	close_follower(f);
}

static void send_after_commit(void *arg, const struct err *failed)
{
	struct follower *f = arg;
	struct err e = {0};
	int rc;

	f->poll_pending = false;
	if (f->closed) {
		follower_free(f);
		return;
	}
	if (failed)
		return; /* the next commit or the timer polls again */
	rc = f->ops->poll(f, &e);
	if (rc < 0) {
		fail(f, &e);
	} else if (rc > 0) {
		http_stream_end(f->stream);
		close_follower(f);
	}
}

static void follower_schedule(struct follower *f)
{
	if (f->poll_pending)
		return;
	f->poll_pending = true;
	supervisor_after_commit(f->api->sup, send_after_commit, f);
}

static void on_change(void *arg)
{
	follower_schedule(arg);
}

static void on_writable(void *arg)
{
	follower_schedule(arg);
}

struct follower *follower_new(struct api_request *q,
			      const struct follower_ops *ops, const char *run)
{
	static const struct http_stream_ops stream_ops = {on_writable,
							  on_closed};
	struct follower *f = calloc(1, sizeof *f);

	if (!f)
		abort();
	f->api = q->api;
	f->ops = ops;
	link_follower(f);
	if (run)
		snprintf(f->run, sizeof f->run, "%s", run);
	f->watch = supervisor_watch(f->api->sup, NULL, on_change, f);
	f->stream = http_reply_stream(q->reply, &stream_ops, f);
	q->reply = NULL;
	follower_schedule(f);
	return f;
}

/* Only an active run can be watched, so the watch is renewed whenever state or
 * attempt changed. */
static void watch_run(struct follower *f, const struct run_row *row)
{
	int64_t now = row->attempt * RUN_STATES + run_state_from(row->state);

	if (f->run_watch && f->watched == now)
		return;
	supervisor_unwatch(f->run_watch);
	f->run_watch = supervisor_watch(f->api->sup, row->id, on_change, f);
	f->watched = now;
}

int follower_run(struct follower *f, struct run_row *row, struct arena *a,
		 struct err *e)
{
	struct sql *db = supervisor_db(f->api->sup);
	int found = sql_get(db, Q_RUN_GET, &(struct run_get_in){f->run}, row, a,
			    e);

	if (found > 0)
		watch_run(f, row);
	return found;
}

int follower_send(struct follower *f, const char *id, const char *event,
		  const struct buf *data)
{
	struct sse_event ev = {
		.id = id, .event = event, .data = data->p, .n = data->n};

	return http_stream_send(f->stream, &ev);
}

bool follower_has_room(struct follower *f)
{
	return http_stream_room(f->stream) > 0;
}

/* Hints may be lost, so the timer polls the followers in turn. */
void followers_poll(struct api *w)
{
	for (int i = 0; i < POLLS && i < w->nprivate; i++) {
		follower_schedule(w->followers);
		w->followers = w->followers->next;
	}
}
