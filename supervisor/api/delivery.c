/* Deliveries, inbound messages and attachments. */
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/text.h"
#include "schema/control/channel/run_deliveries.h"
#include "schema/control/cursor.h"
#include "supervisor/api/list.h"
#include "supervisor/api/request.h"
#include "supervisor/api/routes.h"
#include "supervisor/channel/commands.h"
#include "supervisor/channel/inbound.h"

enum { BY_CHANNEL, BY_STATE, BY_CONVERSATION, BY_AGENT, BY_SESSION, BY_RUN };

static int read_deliveries(struct api_request *q, struct buf *out,
			   struct err *e)
{
	struct delivery_filter in = {.channel = q->filter[BY_CHANNEL],
				     .state = q->filter[BY_STATE],
				     .conversation = q->filter[BY_CONVERSATION],
				     .agent = q->filter[BY_AGENT],
				     .session = q->filter[BY_SESSION],
				     .count = q->limit};
	static const struct api_lists list = {LISTS_DELIVERIES,
					      &delivery_row_shape, "id", NULL};
	const char *run = q->filter[BY_RUN];

	if (page_before_delivery(q->db, q->from, &in.before, e))
		return -1;
	if (run && run_sources(q->db, run, &in.sources, &q->arena, e))
		return -1;
	return api_lists(q, &list, &in, out, e);
}

/* Reads the filters of a list: -1 has been answered. */
static int read_filters(struct api_request *q)
{
	static const char *const filters[] = {
		[BY_CHANNEL] = "channel",           [BY_STATE] = "state",
		[BY_CONVERSATION] = "conversation", [BY_AGENT] = "agent",
		[BY_SESSION] = "session",           [BY_RUN] = "run"};

	if (request_limit(q))
		return -1;
	q->from = request_query(q, "before");
	for (size_t i = 0; i < sizeof filters / sizeof filters[0]; i++)
		q->filter[i] = request_query(q, filters[i]);
	return 0;
}

/* Is the list slow? The backlog may be long, and the deliveries of a run are in
 * its agent file. */
static bool is_long(const struct api_request *q)
{
	const char *state = q->filter[BY_STATE];

	return q->filter[BY_RUN] || (state && (!strcmp(state, "pending") ||
					       !strcmp(state, "sending") ||
					       !strcmp(state, "unknown")));
}

void route_deliveries(struct api_request *q)
{
	if (read_filters(q))
		return;
	if (is_long(q))
		request_read_async(q, read_deliveries);
	else
		request_read(q, read_deliveries);
}

static int read_stats(struct api_request *q, struct buf *out, struct err *e)
{
	struct delivery_stats_in in = {clock_now()};

	return api_list(q, Q_DELIVERY_STATS, &in, out, e);
}

/* Counting reads all rows, so it runs in a thread. */
void route_delivery_stats(struct api_request *q)
{
	request_read_async(q, read_stats);
}

static int find_delivery(struct api_request *q, struct delivery_row *row,
			 struct err *e)
{
	int found = sql_get(supervisor_db(q->api->sup), Q_DELIVERY_GET,
			    &(struct delivery_get_in){q->id}, row, &q->arena,
			    e);

	if (found == 0)
		return err_set(e, ERR_NOTFOUND, "there is no delivery %s",
			       quoted(q->id).text);
	return found < 0 ? -1 : 0;
}

static int read_delivery(struct api_request *q, struct buf *out, struct err *e)
{
	struct delivery_row row;

	if (find_delivery(q, &row, e))
		return -1;
	json_add_shape(out, &delivery_row_shape, &row);
	return 0;
}

static void read_by_id(struct api_request *q,
		       int (*read)(struct api_request *, struct buf *,
				   struct err *))
{
	q->id = request_param(q, "id");
	request_read(q, read);
}

void route_delivery_show(struct api_request *q)
{
	read_by_id(q, read_delivery);
}

static int read_attempts(struct api_request *q, struct buf *out, struct err *e)
{
	struct delivery_attempt_list_in in;
	struct delivery_row row;

	if (find_delivery(q, &row, e))
		return -1;
	in.delivery = row.seq;
	return api_list(q, Q_DELIVERY_ATTEMPT_LIST, &in, out, e);
}

void route_delivery_attempts(struct api_request *q)
{
	read_by_id(q, read_attempts);
}

void route_delivery_verb(struct api_request *q)
{
	struct err e = {0};

	request_command(q,
			supervisor_delivery_verb(q->api->sup,
						 http_param(q->http, "id"),
						 http_param(q->http, "verb"),
						 q->by, request_done(q), &e),
			&e);
}

void route_delivery_post(struct api_request *q,
			 const struct delivery_post_body *body)
{
	struct post_request post = {body->channel, body->conversation,
				    body->body, body->key};
	struct err e = {0};

	request_command(q,
			supervisor_post_message(q->api->sup, &post,
						request_done(q), &e),
			&e);
}

/* --- inbound ---------------------------------------------------------- */

static int read_inbounds(struct api_request *q, struct buf *out, struct err *e)
{
	static const struct api_lists list = {LISTS_INBOUND, &inbound_row_shape,
					      "id", NULL};
	struct inbound_filter in = {.channel = q->filter[BY_CHANNEL],
				    .state = q->filter[BY_STATE],
				    .conversation = q->filter[BY_CONVERSATION],
				    .count = q->limit};

	if (page_before(ID_INBOUND, q->from, &in.before, e))
		return -1;
	return api_lists(q, &list, &in, out, e);
}

void route_inbounds(struct api_request *q)
{
	if (read_filters(q) == 0)
		request_read(q, read_inbounds);
}

static int read_inbound(struct api_request *q, struct buf *out, struct err *e)
{
	struct inbound_row row;
	int found = sql_get(supervisor_db(q->api->sup), Q_INBOUND_GET,
			    &(struct inbound_get_in){q->id}, &row, &q->arena,
			    e);

	if (found == 0)
		return err_set(e, ERR_NOTFOUND,
			       "there is no inbound message %s",
			       quoted(q->id).text);
	if (found == 1)
		json_add_shape(out, &inbound_row_shape, &row);
	return found < 0 ? -1 : 0;
}

void route_inbound_show(struct api_request *q)
{
	read_by_id(q, read_inbound);
}

void route_inbound_verb(struct api_request *q)
{
	const char *verb = http_param(q->http, "verb");
	struct supervisor *s = q->api->sup;
	struct err e = {0};
	int rc = !strcmp(verb, "retry")
			 ? inbound_retry(s, http_param(q->http, "id"), q->by,
					 request_done(q), &e)
			 : inbound_discard(s, http_param(q->http, "id"), q->by,
					   request_done(q), &e);

	request_command(q, rc, &e);
}

/* --- attachments ------------------------------------------------------ */

/* The content may come from anyone: a browser must not render it. */
static int read_media(struct api_request *q, struct buf *out, struct err *e)
{
	struct sql *db = supervisor_db(q->api->sup);
	struct media_bytes_row bytes;
	struct media_row row;
	int found = sql_get(db, Q_MEDIA_GET, &(struct media_get_in){q->id},
			    &row, &q->arena, e);

	(void)out;
	if (found == 1)
		found = sql_get(db, Q_MEDIA_BYTES,
				&(struct media_bytes_in){q->id}, &bytes,
				&q->arena, e);
	if (found == 0)
		return err_set(e, ERR_NOTFOUND, "there is no attachment %s",
			       quoted(q->id).text);
	if (found < 0)
		return -1;
	api_reply_bytes(q->reply, "application/octet-stream", bytes.bytes);
	q->reply = NULL;
	return 0;
}

void route_media(struct api_request *q)
{
	read_by_id(q, read_media);
}
