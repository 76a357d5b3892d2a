#include "schema/control/channel/retention.h"

#include "lib/base/arena.h"
#include "schema/control/channel/delivery.h"
#include "schema/control_queries.h"

#include <stdio.h>
#include <string.h>

#define ATTACHMENTS_MAX 1000 /* of one message */

SHAPE_DEFINE(retention_options, RETENTION_OPTIONS);
SHAPE_DEFINE(retention_result, RETENTION_RESULT);

void message_retention_begin(struct message_retention *r,
			     const struct retention_options *options)
{
	*r = (struct message_retention){.options = *options};
}

/* Attachments are deleted with the last message that uses them. */
static int drop_attachments(struct message_retention *r, struct sql *db,
			    const char *owner, struct err *e)
{
	struct media_use_row *rows;
	struct arena a = {0};
	int n = sql_collect(db, Q_MEDIA_USE_LIST,
			    &(struct media_use_list_in){owner}, ATTACHMENTS_MAX,
			    &rows, &a, e);
	int rc = n < 0 ? -1 : 0;

	if (n > 0)
		rc = sql_exec(db, Q_MEDIA_USE_DELETE,
			      &(struct media_use_delete_in){owner}, e);
	for (int i = 0; rc >= 0 && i < n; i++) {
		rc = sql_exec(db, Q_MEDIA_DELETE_UNUSED,
			      &(struct media_delete_unused_in){rows[i].media},
			      e);
		r->sum.attachments += rc > 0;
		r->bytes += rc > 0 ? rows[i].size : 0;
	}
	arena_fini(&a);
	return rc < 0 ? -1 : 0;
}

/* --- what went out ---------------------------------------------------- */

static bool is_old(const struct message_retention *r,
		   const struct retention_delivery_row *row)
{
	int64_t before = r->options.deliveries_before;

	if (!strcmp(row->state, "dead"))
		before = r->options.dead_before;
	else if (strcmp(row->state, "delivered") != 0 &&
		 strcmp(row->state, "discarded") != 0)
		return false;
	return row->done_at != OPT_NONE && row->done_at < before;
}

static int drop_out(struct message_retention *r, struct sql *db,
		    const struct retention_delivery_row *row, struct err *e)
{
	int n = sql_exec(db, Q_RETENTION_DELIVERY_DELETE,
			 &(struct retention_delivery_delete_in){row->seq}, e);

	if (n <= 0)
		return n;
	r->sum.deliveries++;
	return drop_attachments(r, db, row->id, e);
}

static int64_t latest(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Rows are in the order of their creation, so a batch in which all are too
 * young ends the walk. A row with a wrong date, from a wrong clock, does
 * not. */
static int walk_out(struct message_retention *r, struct sql *db, int64_t count,
		    struct err *e)
{
	struct retention_delivery_in in = {r->seq, count};
	int64_t before = latest(r->options.deliveries_before,
				r->options.dead_before);
	struct retention_delivery_row *rows;
	struct arena a = {0};
	int n = sql_collect(db, Q_RETENTION_DELIVERY, &in, (int)count, &rows,
			    &a, e);
	int rc = n < 0 ? -1 : 0, young = 0;

	for (int i = 0; rc == 0 && i < n; i++) {
		r->seq = rows[i].seq;
		young += rows[i].created_at >= before;
		if (is_old(r, &rows[i]))
			rc = drop_out(r, db, &rows[i], e);
	}
	arena_fini(&a);
	return rc ? -1 : young == n ? 0 : n;
}

/* --- what came in ----------------------------------------------------- */

static int drop_in(struct message_retention *r, struct sql *db,
		   const struct retention_inbound_row *row, struct err *e)
{
	int n = sql_exec(db, Q_RETENTION_INBOUND_DELETE,
			 &(struct retention_inbound_delete_in){row->id}, e);

	if (n <= 0)
		return n;
	r->sum.inbound++;
	return drop_attachments(r, db, row->id, e);
}

static int walk_in(struct message_retention *r, struct sql *db, int64_t count,
		   struct err *e)
{
	struct retention_inbound_in in = {r->id, count};
	struct retention_inbound_row *rows;
	struct arena a = {0};
	int n = sql_collect(db, Q_RETENTION_INBOUND, &in, (int)count, &rows, &a,
			    e);
	int rc = n < 0 ? -1 : 0, young = 0;

	for (int i = 0; rc == 0 && i < n; i++) {
		bool old = rows[i].received_at < r->options.inbound_before;

		snprintf(r->id, sizeof r->id, "%s", rows[i].id);
		young += !old;
		if (old && (!rows[i].is_dead ||
			    rows[i].received_at < r->options.dead_before))
			rc = drop_in(r, db, &rows[i], e);
	}
	arena_fini(&a);
	return rc ? -1 : young == n ? 0 : n;
}

/* --- between sessions ------------------------------------------------- */

static int walk_between(struct message_retention *r, struct sql *db,
			int64_t count, struct err *e)
{
	struct retention_message_in in = {r->id, count};
	int64_t before = r->options.deliveries_before;
	struct retention_message_row *rows;
	struct arena a = {0};
	int n = sql_collect(db, Q_RETENTION_MESSAGE, &in, (int)count, &rows, &a,
			    e);
	int rc = n < 0 ? -1 : 0, young = 0;

	for (int i = 0; rc == 0 && i < n; i++) {
		struct retention_message_delete_in gone = {rows[i].id};
		bool old = rows[i].read_at != OPT_NONE &&
			   rows[i].read_at < before;

		snprintf(r->id, sizeof r->id, "%s", rows[i].id);
		young += rows[i].created_at >= before;
		if (old)
			rc = sql_exec(db, Q_RETENTION_MESSAGE_DELETE, &gone, e);
		r->sum.messages += rc > 0;
		rc = rc < 0 ? -1 : 0;
	}
	arena_fini(&a);
	return rc ? -1 : young == n ? 0 : n;
}

int message_retention_step(struct message_retention *r, struct sql *control,
			   int64_t count, struct err *e)
{
	int (*const walks[])(struct message_retention *, struct sql *, int64_t,
			     struct err *) = {walk_out, walk_in, walk_between};
	int n = 0;

	while (n == 0 && r->at < (int)(sizeof walks / sizeof walks[0])) {
		n = walks[r->at](r, control, count, e);
		if (n == 0) {
			r->at++;
			r->id[0] = '\0';
		}
	}
	return n;
}
