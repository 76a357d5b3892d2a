/* What nobody knows: deliveries that left, and of which no word came back. */
#include "supervisor/channel.h"

#include "base/clock.h"

#define RECOVER_ROWS 500 /* in one step */

/* An unknown one: sent again if that is harmless, else the channel is asked. */
static int resolve_row(struct channel *c, const struct delivery_row *row,
		       int64_t now, struct err *e)
{
	struct delivery_end d = delivery_end_of(row);
	struct delivery_claim_row claim = {
		.seq = row->seq,
		.id = row->id,
		.conversation = row->conversation,
		.line = row->line,
		.agent = row->agent,
		.body = row->body,
		.attempts = row->attempts,
		.expires_at = row->expires_at,
	};
	struct parcel *p;

	if (c->idempotent) {
		d.event = DELIVERY_EV_FAIL;
		d.due_at = now;
		d.detail = "sent again with the same key";
		c->look = true;
		return delivery_settle(c->sup->db, &d, now, e) < 0 ? -1 : 0;
	}
	if (!c->ops->ask)
		return 0;
	p = parcel_new(c, &claim);
	p->asking = true;
	p->late_ms = (int64_t)uv_now(&c->sup->loop) + c->config.timeout;
	if (!c->ops->ask(c, p))
		parcel_free(p);
	return 0;
}

int parcels_resolve(struct channel *c, struct err *e)
{
	struct delivery_unknown_in in = {c->resolved_to, c->name, RECOVER_ROWS};
	struct delivery_row *rows;
	struct arena a = {0};
	int64_t now = clock_now();
	int n;

	if (!c->resolve || !c->ops->ready(c))
		return 0;
	n = step_begin(&c->sup->step, e)
		    ? -1
		    : sql_collect(c->sup->db, Q_DELIVERY_UNKNOWN, &in,
				  RECOVER_ROWS, &rows, &a, e);
	for (int i = 0; i < n; i++) {
		c->resolved_to = rows[i].seq;
		if (resolve_row(c, &rows[i], now, e)) {
			n = -1;
			break;
		}
	}
	if (n >= 0)
		c->resolve = n == RECOVER_ROWS;
	arena_fini(&a);
	return n;
}

/* What another skepd had on its way: it left, and nobody knows. */
int parcels_recover(struct sup *s, struct err *e)
{
	struct delivery_lost_in in = {s->epoch, RECOVER_ROWS};
	struct delivery_row *rows;
	struct arena a = {0};
	int n = step_begin(&s->step, e)
			? -1
			: sql_collect(s->db, Q_DELIVERY_LOST, &in, RECOVER_ROWS,
				      &rows, &a, e);

	for (int i = 0; i < n; i++) {
		struct delivery_end d = delivery_end_of(&rows[i]);

		d.event = DELIVERY_EV_LOSE;
		d.detail = "skepd died while it was on its way";
		if (delivery_settle(s->db, &d, clock_now(), e) < 0) {
			n = -1;
			break;
		}
	}
	arena_fini(&a);
	if (n >= 0)
		s->channels->recovering = n == RECOVER_ROWS;
	return n;
}
