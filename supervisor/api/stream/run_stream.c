/* The events of a run or session as a stream. */
#include <stdlib.h>
#include <string.h>

#include "supervisor/api/stream/internal.h"

struct run_subject {
	struct api *api;
	char *agent;
	char *session;
	char *run;               /* NULL: the whole session */
	struct agent_file *file; /* during a poll; NULL: there is none yet */
	struct buf data;         /* JSON of the current item */
	struct buf id;           /* the position after it */
};

static void free_subject(void *subject)
{
	struct run_subject *u = subject;

	free(u->agent);
	free(u->session);
	free(u->run);
	buf_fini(&u->data);
	buf_fini(&u->id);
	free(u);
}

/* --- the status ------------------------------------------------------- */

static void write_status(struct event_stream *t, const struct run_row *row)
{
	struct buf *b = &t->status;
	struct run_activity active = {0};

	buf_clear(b);
	json_begin_object(b);
	json_put_text(b, "state", row ? row->state : "idle");
	if (row) {
		json_put_nullable(b, "run", row->id);
		json_put_int(b, "attempt", row->attempt);
		json_put_nullable(b, "reason", row->reason);
		json_put_nullable(b, "detail", row->detail);
		if (supervisor_run_activity(t->api->sup, row->id, &active))
			json_put_nullable(b, "phase", active.phase);
	}
	json_end_object(b);
	stream_set_status(t);
}

/* Reads the run, or the next run of the session: 1, 0 if there is none, -1. */
static int read_run(struct run_subject *u, struct run_row *row, struct arena *a,
		    struct err *e)
{
	struct sql *db = supervisor_db(u->api->sup);
	struct run_get_in in = {u->run};
	struct run_queue_state_row queue = {0};
	struct run_queue_state_in key = {u->agent, u->session};

	if (!u->run) {
		if (sql_get(db, Q_RUN_QUEUE_STATE, &key, &queue, a, e) < 0)
			return -1;
		in.id = queue.next;
	}
	return in.id ? sql_get(db, Q_RUN_GET, &in, row, a, e) : 0;
}

static int refresh(struct event_stream *t, struct err *e)
{
	struct run_subject *u = t->subject;
	struct arena a = {0};
	struct run_row row;
	int found = read_run(u, &row, &a, e);

	if (found > 0)
		stream_watch_run(t, &row);
	if (found >= 0)
		write_status(t, found ? &row : NULL);
	t->over = found == 0 || (found > 0 && run_row_is_over(&row));
	arena_fini(&a);
	u->file = NULL;
	return found < 0 || agent_files_get(&t->api->files,
					    supervisor_db(t->api->sup),
					    u->agent, &u->file, e) < 0
		       ? -1
		       : 0;
}

/* --- rows: the reader is a tail ---------------------------------------- */

static int open_reader(void *subject, const char *after, void **reader,
		       struct err *e)
{
	struct run_subject *u = subject;
	struct tail_options want = {u->session, u->run, after};
	struct tail *tail;

	if (tail_open(&tail, &want, e))
		return -1;
	*reader = tail;
	return 0;
}

static void close_reader(void *reader)
{
	tail_close(reader);
}

static void reader_cursor(const void *reader, struct buf *out)
{
	tail_cursor(reader, out);
}

struct item_sender {
	struct run_subject *subject;
	stream_send *send;
	void *arg;
};

static int send_item(void *arg, const struct tail *tail,
		     const struct tail_item *item)
{
	const struct item_sender *to = arg;
	struct run_subject *u = to->subject;

	buf_clear(&u->data);
	if (item->event) {
		stream_event_json(&u->data, item->event);
		json_end_object(&u->data);
	} else {
		stream_part_json(&u->data, item, u->run);
	}
	buf_clear(&u->id);
	tail_cursor(tail, &u->id);
	return to->send(
		to->arg,
		&(struct sse_event){.id = u->id.p,
				    .event = item->event ? "event" : "part",
				    .data = u->data.p,
				    .n = u->data.n});
}

static int read_rows(void *subject, void *reader, stream_send *send, void *arg,
		     struct err *e)
{
	struct run_subject *u = subject;
	struct item_sender to = {u, send, arg};

	return u->file ? tail_read(reader, u->file, send_item, &to, e) : 0;
}

static bool finish(struct event_stream *t, void *reader, stream_send *send,
		   void *arg)
{
	(void)reader;
	send(arg, &(struct sse_event){.event = "end",
				      .data = t->status.p,
				      .n = t->status.n});
	return true;
}

static const struct stream_source run_source = {
	.refresh = refresh,
	.open = open_reader,
	.close = close_reader,
	.read = read_rows,
	.cursor = reader_cursor,
	.finish = finish,
	.free = free_subject,
};

int run_stream_subscribe(struct api *w, const struct run_stream_request *want,
			 struct http_reply *reply, struct err *e)
{
	struct run_subject *u = calloc(1, sizeof *u);
	struct buf key = BUF_MAX(1 << 20);
	struct stream_request request = {
		.source = &run_source,
		.subject = u,
		.after = want->after,
		.until_over = want->run || want->until_idle,
		.bundle = want->bundle,
	};
	int rc;

	if (!u)
		abort();
	u->api = w;
	u->agent = strdup(want->agent);
	u->session = strdup(want->session);
	u->run = want->run ? strdup(want->run) : NULL;
	buf_init(&u->data, (size_t)256 << 20);
	buf_init(&u->id, 1 << 20);
	/* neither the name of an agent nor the id of a run has a line break */
	buf_addf(&key, "%s\n%s\n%s", want->agent, want->run ? want->run : "",
		 want->session);
	request.key = key.p;
	rc = stream_subscribe(w, &request, reply, e);
	buf_fini(&key);
	return rc;
}
