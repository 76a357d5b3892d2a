/* The host log, as a page or as a stream. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/text.h"
#include "supervisor/api/routes.h"
#include "supervisor/api/stream/internal.h"

#define PAGE     100
#define RUNS_MAX 32 /* in one stream */

struct host_subject {
	struct api *api;
	struct host_event_bounds_row bounds; /* of the last poll */
};

/* A position in the host log. */
struct host_reader {
	int64_t seq;
	bool is_new; /* the client has no cursor yet */
};

static int read_bounds(struct host_subject *u, struct err *e)
{
	return sql_get(supervisor_db(u->api->sup), Q_HOST_EVENT_BOUNDS, NULL,
		       &u->bounds, NULL, e) < 0
		       ? -1
		       : 0;
}

static int refresh(struct event_stream *t, struct err *e)
{
	return read_bounds(t->subject, e);
}

static int open_reader(void *subject, const char *after, void **reader,
		       struct err *e)
{
	struct host_subject *u = subject;
	struct host_reader *r;
	int64_t seq = 0;

	if (after ? text_i64("the cursor", after, 0, INT64_MAX, &seq, e)
		  : read_bounds(u, e))
		return -1;
	r = calloc(1, sizeof *r);
	if (!r)
		abort();
	r->seq = after ? seq : u->bounds.last;
	r->is_new = !after;
	*reader = r;
	return 0;
}

static void reader_cursor(const void *reader, struct buf *out)
{
	const struct host_reader *r = reader;

	buf_addf(out, "%" PRId64, r->seq);
}

static int send_at(const struct host_reader *r, const char *event,
		   const struct buf *data, stream_send *send, void *arg)
{
	char id[24];

	snprintf(id, sizeof id, "%" PRId64, r->seq);
	return send(arg, &(struct sse_event){.id = id,
					     .event = event,
					     .data = data->p,
					     .n = data->n});
}

/* The first event of a stream without a cursor contains one. */
static void send_ready(struct host_reader *r, stream_send *send, void *arg)
{
	struct buf data = BUF_MAX(64);

	json_begin_object(&data);
	json_put_int(&data, "seq", r->seq);
	json_end_object(&data);
	send_at(r, "ready", &data, send, arg);
	buf_fini(&data);
	r->is_new = false;
}

/* Rows before the oldest one were deleted: a client that has not seen them must
 * read everything again. A cursor beyond the last row is from another home or
 * an older copy. */
static void send_gap(const struct host_subject *u, struct host_reader *r,
		     stream_send *send, void *arg)
{
	const struct host_event_bounds_row *b = &u->bounds;
	struct buf data = BUF_MAX(256);

	if (r->seq <= b->last && (b->first == 0 || r->seq + 1 >= b->first))
		return;
	json_begin_object(&data);
	json_put_int(&data, "after", r->seq);
	json_put_int(&data, "first", b->first);
	json_put_int(&data, "last", b->last);
	json_end_object(&data);
	r->seq = b->first && r->seq < b->first ? b->first - 1 : b->last;
	send_at(r, "resync_required", &data, send, arg);
	buf_fini(&data);
}

static int send_row(struct host_reader *r, const struct host_event_row *row,
		    stream_send *send, void *arg)
{
	struct buf data = BUF_MAX(1 << 20);
	int full;

	json_add_shape(&data, &host_event_row_shape, row);
	r->seq = row->seq;
	full = send_at(r, row->kind, &data, send, arg);
	buf_fini(&data);
	return full;
}

static int read_rows(void *subject, void *reader, stream_send *send, void *arg,
		     struct err *e)
{
	struct host_subject *u = subject;
	struct host_reader *r = reader;
	struct arena a = {0};
	struct host_event_row *rows;
	int n, sent = 0, full = 0;

	if (r->is_new)
		send_ready(r, send, arg);
	send_gap(u, r, send, arg);
	n = sql_collect(supervisor_db(u->api->sup), Q_HOST_EVENT_LIST,
			&(struct host_event_list_in){r->seq, PAGE}, PAGE, &rows,
			&a, e);
	while (sent < n && !full)
		full = send_row(r, &rows[sent++], send, arg);
	arena_fini(&a);
	return n < 0 ? -1 : sent < n || n == PAGE;
}

static const struct stream_source host_source = {
	.refresh = refresh,
	.open = open_reader,
	.close = free,
	.read = read_rows,
	.cursor = reader_cursor,
	.free = free,
};

static int subscribe(struct api_request *q, struct stream_bundle *bundle,
		     struct err *e)
{
	struct host_subject *u = calloc(1, sizeof *u);
	struct stream_request request = {
		.source = &host_source,
		.subject = u,
		.key = "host",
		.after = q->from,
		.bundle = bundle,
	};

	if (!u)
		abort();
	u->api = q->api;
	if (stream_subscribe(q->api, &request, bundle ? NULL : q->reply, e))
		return -1;
	q->reply = NULL;
	return 0;
}

/* Adds a run, ID or ID@CURSOR. One that does not exist any more has no
 * events. */
static int join_run(struct api_request *q, struct stream_bundle *b, char *word,
		    struct err *e)
{
	char *cursor = strchr(word, '@');
	struct run_stream_request want = {.bundle = b};
	struct run_row row;
	int found;

	if (cursor)
		*cursor++ = '\0';
	found = sql_get(supervisor_db(q->api->sup), Q_RUN_GET,
			&(struct run_get_in){word}, &row, &q->arena, e);
	if (found <= 0)
		return found;
	want.agent = row.agent;
	want.session = row.session;
	want.run = row.id;
	want.after = cursor;
	return run_stream_subscribe(q->api, &want, NULL, e);
}

/* The host log and the runs of ?runs=, over one connection. */
static int subscribe_with_runs(struct api_request *q, struct err *e)
{
	char *rest = arena_text(&q->arena, q->filter[0]), *word;
	struct stream_bundle *b;
	struct err bad = {0};
	int64_t seq;

	if (q->from && text_i64("the cursor", q->from, 0, INT64_MAX, &seq, e))
		return -1;
	b = bundle_open(q->reply);
	if (subscribe(q, b, &bad))
		bundle_fail(b, &bad);
	q->reply = NULL;
	for (int n = 0; n < RUNS_MAX && (word = strsep(&rest, ";")); n++)
		if (join_run(q, b, word, &bad) < 0)
			bundle_fail(b, &bad);
	return 0;
}

/* --- the route ----------------------------------------------------------- */

static int write_page(struct api_request *q, struct buf *out, struct err *e)
{
	struct host_event_list_in in = {0, q->limit};
	struct host_event_row row;
	struct sql_rows it;
	char next[24] = "";
	int64_t n = 0;

	if (q->from &&
	    text_i64("the cursor", q->from, 0, INT64_MAX, &in.after, e))
		return -1;
	it = sql_rows(supervisor_db(q->api->sup), Q_HOST_EVENT_LIST, &in);
	list_begin(out);
	for (; sql_next(&it, &row); n++) {
		list_item(out, &host_event_row_shape, &row);
		snprintf(next, sizeof next, "%" PRId64, row.seq);
	}
	list_end(out, n == q->limit ? next : NULL);
	return sql_end(&it, e);
}

static int page_or_stream_log(struct api_request *q, struct buf *out,
			      struct err *e)
{
	if (!q->flag)
		return write_page(q, out, e);
	return q->filter[0] ? subscribe_with_runs(q, e) : subscribe(q, NULL, e);
}

void route_events(struct api_request *q)
{
	if (request_reader(q))
		return;
	q->filter[0] = request_query(q, "runs");
	request_read(q, page_or_stream_log);
}
