/* Unknown deliveries: sent, but without an outcome. */
#include "lib/base/backoff.h"
#include "supervisor/channel/delivery.h"
#include "supervisor/channel/internal.h"

#include "lib/base/clock.h"
#include "lib/base/log.h"

#include <stdio.h>

#define RECOVER_ROWS 500 /* in one transaction */
#define CLEANUP_ROWS 200 /* in one turn of the loop */

/* Queries the outcome from the channel; false if it does not support that. */
static bool query_channel(struct channel *c, const struct delivery_row *row)
{
	struct delivery_claim_row claim = {
		.seq = row->seq,
		.id = row->id,
		.conversation = row->conversation,
		.ordering_key = row->ordering_key,
		.agent = row->agent,
		.body = row->body,
		.attempts = row->attempts,
		.expires_at = row->expires_at,
	};
	struct inflight *p;

	if (!c->ops->query)
		return false;
	p = inflight_new(c, &claim);
	p->asking = true;
	if (row->attempt_id) /* only an answer about this attempt counts */
		snprintf(p->attempt.text, sizeof p->attempt.text, "%s",
			 row->attempt_id);
	p->code = row->remote_status;
	p->why = arena_text(&p->arena, row->detail);
	p->deadline_ms = (int64_t)uv_now(&c->sup->loop) + c->config.timeout;
	if (c->ops->query(c, p))
		return true;
	inflight_free(p);
	return false;
}

/* Resolves an unknown delivery. On an idempotent channel it is sent again, with
 * the delays and attempts of a failed one; otherwise the channel is queried. A
 * delivery without attempts left or without a possible query waits for a user
 * and no longer blocks its queue. */
static int resolve_row(struct channel *c, const struct delivery_row *row,
		       int64_t now, struct err *e)
{
	struct delivery_end d = delivery_end_of(row);

	d.event = DELIVERY_EV_REVIEW;
	if (c->idempotent)
		d.due_at = inflight_next_attempt(c, row->attempts,
						 row->expires_at, now);
	if (d.due_at != OPT_NONE) {
		d.event = DELIVERY_EV_FAIL;
		d.detail = "sent again with the same key";
	} else if (!c->idempotent && query_channel(c, row)) {
		return 0;
	} else if (!row->is_queued) {
		return 0; /* it does not block a queue */
	}
	c->may_be_due = true;
	return delivery_record(c->sup->db, &d, now, e) < 0 ? -1 : 0;
}

void inflight_query_failed(struct channel *c, int64_t now)
{
	uint32_t random;

	if (c->query_at != OPT_NONE)
		return;
	id_random(&random, sizeof random);
	c->query_at = now + backoff_spread(backoff_next(++c->queries,
							c->config.backoff,
							c->config.backoff_max),
					   random);
}

void inflight_retry_query(struct channel *c, int64_t now)
{
	if (c->query_at == OPT_NONE || c->query_at > now)
		return;
	c->query_at = OPT_NONE;
	inflight_resolve_from(c, 1);
}

void inflight_resolve_from(struct channel *c, int64_t seq)
{
	c->may_be_due = c->resolve = true;
	if (c->resolved_to >= seq)
		c->resolved_to = seq - 1;
}

/* -1: the whole transaction has failed. Else the row has, alone. */
static int skip_failed(struct supervisor *s, const struct delivery_row *row,
		       const struct err *e)
{
	if (!txn_can_commit(&s->txn))
		return -1;
	log_error(LT("msg", "a delivery cannot be changed"),
		  LT("delivery", row->id), LT("error", e->text));
	return 0;
}

static int try_row(struct channel *c, const struct delivery_row *row,
		   int64_t now, struct err *e)
{
	struct txn *txn = &c->sup->txn;

	txn_try_begin(txn);
	if (txn_try_end(txn, resolve_row(c, row, now, e), e) == 0)
		return 0;
	return skip_failed(c->sup, row, e);
}

int inflight_resolve_unknown(struct channel *c, struct err *e)
{
	struct delivery_unknown_in in = {c->resolved_to, c->name, RECOVER_ROWS};
	struct delivery_row *rows;
	struct arena a = {0};
	int64_t now = clock_now();
	int n;

	if (!c->resolve || !c->ops->ready(c))
		return 0;
	n = txn_begin(&c->sup->txn, e)
		    ? -1
		    : sql_collect(c->sup->db, Q_DELIVERY_UNKNOWN, &in,
				  RECOVER_ROWS, &rows, &a, e);
	for (int i = 0; i < n; i++) {
		c->resolved_to = rows[i].seq;
		if (try_row(c, &rows[i], now, e)) {
			n = -1;
			break;
		}
	}
	if (n >= 0)
		c->resolve = n == RECOVER_ROWS;
	arena_fini(&a);
	return n;
}

static int end_row(struct supervisor *s, const struct delivery_row *row,
		   enum delivery_event event, const char *why, struct err *e)
{
	struct delivery_end d = delivery_end_of(row);
	struct channel *c = channel_find(s, row->channel);

	d.event = event;
	d.detail = why;
	if (delivery_record(s->db, &d, clock_now(), e) < 0)
		return -1;
	if (c)
		inflight_resolve_from(c, row->seq);
	s->host_changed = true;
	return 0;
}

/* Applies the same event to all rows. */
static int end_all(struct supervisor *s, const struct delivery_row *rows, int n,
		   enum delivery_event event, const char *why, struct err *e)
{
	for (int i = 0; i < n; i++) {
		txn_try_begin(&s->txn);
		if (txn_try_end(&s->txn, end_row(s, &rows[i], event, why, e),
				e) &&
		    skip_failed(s, &rows[i], e))
			return -1;
	}
	return 0;
}

/* Deliveries that a former skepd had in flight become unknown. */
int inflight_recover(struct supervisor *s, struct err *e)
{
	struct delivery_lost_in in = {s->epoch, RECOVER_ROWS};
	struct delivery_row *rows;
	struct arena a = {0};
	int n = txn_begin(&s->txn, e) ? -1
				      : sql_collect(s->db, Q_DELIVERY_LOST, &in,
						    RECOVER_ROWS, &rows, &a, e);

	if (n > 0 && end_all(s, rows, n, DELIVERY_EV_LOSE,
			     "skepd died while it was on its way", e))
		n = -1;
	arena_fini(&a);
	if (n >= 0)
		s->channels->recovering = n == RECOVER_ROWS;
	return n;
}

/* Reads first: usually there is nothing to do and no commit is needed. */
int inflight_expire(struct supervisor *s, struct err *e)
{
	int64_t now = clock_now();
	struct delivery_overdue_in overdue = {now, CLEANUP_ROWS};
	struct delivery_too_old_in too_old = {now, CLEANUP_ROWS};
	struct delivery_row *late, *old;
	struct arena a = {0};
	int n = sql_collect(s->db, Q_DELIVERY_OVERDUE, &overdue, CLEANUP_ROWS,
			    &late, &a, e);
	int m = n < 0 ? -1
		      : sql_collect(s->db, Q_DELIVERY_TOO_OLD, &too_old,
				    CLEANUP_ROWS, &old, &a, e);

	if (n + m > 0 &&
	    (txn_begin(&s->txn, e) ||
	     end_all(s, late, n, DELIVERY_EV_LOSE, "no answer came", e) ||
	     end_all(s, old, m, DELIVERY_EV_EXPIRE, "too old", e)))
		m = -1;
	arena_fini(&a);
	s->channels->cleanup = m < 0;
	if (n == CLEANUP_ROWS || m == CLEANUP_ROWS)
		channels_defer_cleanup(s);
	return m < 0 ? -1 : n + m;
}

int inflight_fail_orphans(struct supervisor *s, struct err *e)
{
	struct delivery_orphan_in in = {CLEANUP_ROWS};
	struct delivery_row *rows;
	struct arena a = {0};
	int n = sql_collect(s->db, Q_DELIVERY_ORPHAN, &in, CLEANUP_ROWS, &rows,
			    &a, e);

	if (n > 0 &&
	    (txn_begin(&s->txn, e) || end_all(s, rows, n, DELIVERY_EV_EXPIRE,
					      "the channel was removed", e)))
		n = -1;
	arena_fini(&a);
	s->channels->orphans = n < 0;
	if (n > 0) /* the next deliveries of their queues follow */
		channels_defer_cleanup(s);
	return n;
}
