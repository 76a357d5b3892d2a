/*
 * How many deliveries each channel has in which state. To count them all is to
 * read them all, so a thread does it, with a connection of its own.
 */
#include <stdlib.h>

#include "schema/control.h"
#include "supervisor/web_ask.h"
#include "supervisor/web_routes.h"

struct count {
	uv_work_t work;
	struct ask *q;
	struct buf out;
	struct err err;
	int rc;
};

static int add_rows(struct count *c, struct sql *db)
{
	struct sql_rows it = sql_rows(db, Q_DELIVERY_STATS, NULL);
	struct delivery_stats_row row;

	list_begin(&c->out);
	while (sql_next(&it, &row))
		list_item(&c->out, &delivery_stats_row_shape, &row);
	list_end(&c->out, NULL);
	return sql_end(&it, &c->err);
}

static void work(uv_work_t *w)
{
	struct count *c = w->data;
	struct sql *db;

	c->rc = control_open(&db, sup_home(c->q->web->sup), SQL_READONLY,
			     &c->err);
	if (c->rc)
		return;
	c->rc = add_rows(c, db);
	sql_close(db);
}

static void done(uv_work_t *w, int status)
{
	struct count *c = w->data;

	if (status)
		c->rc = err_set(&c->err, ERR_CANCELED, "it was cancelled");
	if (c->rc) {
		ask_fail(c->q, &c->err);
	} else {
		http_reply_json(c->q->reply, 200, c->out.p, c->out.n);
		ask_free(c->q);
	}
	buf_fini(&c->out);
	free(c);
}

void route_delivery_stats(void *app, const struct http_request *r,
			  struct http_reply *reply)
{
	struct count *c = calloc(1, sizeof *c);

	if (!c)
		abort();
	c->q = ask_new(app, r, reply);
	c->work.data = c;
	buf_init(&c->out, 8 << 20);
	uv_queue_work(c->q->web->loop, &c->work, work, done);
}
