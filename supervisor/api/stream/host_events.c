/* The host's own log, as a page or a stream with a cursor that lasts. */
#include <inttypes.h>

#include "lib/base/text.h"
#include "supervisor/api/routes.h"
#include "supervisor/api/stream/stream.h"

#define PAGE 100

static int bounds_of(struct api *w, struct host_event_bounds_row *b,
		     struct err *e)
{
	return sql_get(supervisor_db(w->sup), Q_HOST_EVENT_BOUNDS, NULL, b,
		       NULL, e) < 0
		       ? -1
		       : 0;
}

/* Rows before the oldest one were deleted: a client that has not seen them must
 * read everything again. A cursor beyond the last row is from another home or
 * an older copy. */
static int report_gap(struct follower *f, struct err *e)
{
	struct host_event_bounds_row b;
	struct buf data = BUF_MAX(256);
	char id[24];

	if (bounds_of(f->api, &b, e))
		return -1;
	if (f->seq <= b.last && (b.first == 0 || f->seq + 1 >= b.first))
		return 0;
	json_begin_object(&data);
	json_put_int(&data, "after", f->seq);
	json_put_int(&data, "first", b.first);
	json_put_int(&data, "last", b.last);
	json_end_object(&data);
	f->seq = b.first && f->seq < b.first ? b.first - 1 : b.last;
	snprintf(id, sizeof id, "%" PRId64, f->seq);
	follower_send(f, id, "resync_required", &data);
	buf_fini(&data);
	return 0;
}

static void send_row(struct follower *f, const struct host_event_row *row)
{
	struct buf data = BUF_MAX(1 << 20);
	char id[24];

	json_add_shape(&data, &host_event_row_shape, row);
	snprintf(id, sizeof id, "%" PRId64, row->seq);
	follower_send(f, id, row->kind, &data);
	f->seq = row->seq;
	buf_fini(&data);
}

static int poll_host_events(struct follower *f, struct err *e)
{
	struct arena a = {0};
	int n = PAGE;

	if (report_gap(f, e))
		return -1;
	while (n == PAGE && follower_has_room(f)) {
		struct host_event_list_in in = {f->seq, PAGE};
		struct host_event_row *rows;

		arena_reset(&a);
		n = sql_collect(supervisor_db(f->api->sup), Q_HOST_EVENT_LIST,
				&in, PAGE, &rows, &a, e);
		for (int i = 0; i < n; i++)
			send_row(f, &rows[i]);
	}
	arena_fini(&a);
	return n < 0 ? -1 : 0;
}

static const struct follower_ops host_ops = {poll_host_events, NULL};

/* The first frame of a stream without a cursor contains one. */
static void send_cursor(struct follower *f)
{
	struct buf data = BUF_MAX(64);
	char id[24];

	snprintf(id, sizeof id, "%" PRId64, f->seq);
	json_begin_object(&data);
	json_put_int(&data, "seq", f->seq);
	json_end_object(&data);
	follower_send(f, id, "ready", &data);
	buf_fini(&data);
}

static int write_page(struct api_request *q, int64_t after, struct buf *out,
		      struct err *e)
{
	struct host_event_list_in in = {after, q->limit};
	struct sql_rows it = sql_rows(supervisor_db(q->api->sup),
				      Q_HOST_EVENT_LIST, &in);
	struct host_event_row row;
	char next[24] = "";
	int64_t n = 0;

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
	struct host_event_bounds_row b;
	int64_t after = q->flag ? -1 : 0;
	struct follower *f;

	if (q->from && text_i64("the cursor", q->from, 0, INT64_MAX, &after, e))
		return -1;
	if (!q->flag)
		return write_page(q, after, out, e);
	if (bounds_of(q->api, &b, e))
		return -1;
	f = follower_new(q, &host_ops, NULL);
	f->seq = after < 0 ? b.last : after;
	if (after < 0)
		send_cursor(f);
	return 0;
}

void route_events(struct api_request *q)
{
	if (request_reader(q) == 0)
		request_read(q, page_or_stream_log);
}
