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
	return txn_begin(&c->sup->txn, e) ||
			       delivery_record(c->sup->db, &d, now, e) < 0
		       ? -1
		       : 0;
}

void inflight_resolve_later(struct channel *c, int64_t now)
{
	uint32_t random;

	if (c->resolve_at != OPT_NONE)
		return;
	id_random(&random, sizeof random);
	c->resolve_at = now +
			backoff_spread(backoff_next(++c->resolve_failures,
						    c->config.backoff,
						    c->config.backoff_max),
				       random);
}

void inflight_resolve_if_due(struct channel *c, int64_t now)
{
	if (c->resolve_at == OPT_NONE || c->resolve_at > now)
		return;
	c->resolve_at = OPT_NONE;
	inflight_resolve_from(c, 1);
}

void inflight_resolve_from(struct channel *c, int64_t seq)
{
	c->may_be_due = c->resolve = true;
	if (c->resolved_to >= seq)
		c->resolved_to = seq - 1;
}

/* -1: the whole transaction has failed. If only the row has, it is tried again
 * later. */
static int try_row(struct channel *c, const struct delivery_row *row,
		   int64_t now, struct err *e)
{
	struct txn *txn = &c->sup->txn;

	txn_try_begin(txn);
	if (txn_try_end(txn, resolve_row(c, row, now, e), e) == 0)
		return 0;
	if (!txn_can_commit(txn))
		return -1;
	log_error(LT("msg", "cannot resolve an unknown delivery"),
		  LT("delivery", row->id), LT("error", e->text));
	inflight_resolve_later(c, now);
	return 0;
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

/* --- clean-up --------------------------------------------------------- */

static int end_row(struct supervisor *s, const struct delivery_row *row,
		   enum delivery_event event, const char *why, struct err *e)
{
	struct delivery_end d = delivery_end_of(row);
	struct channel *c = channel_find(s, row->channel);

	d.event = event;
	d.detail = why;
	if (txn_begin(&s->txn, e) ||
	    delivery_record(s->db, &d, clock_now(), e) < 0)
		return -1;
	if (c)
		inflight_resolve_from(c, row->seq);
	s->host_changed = true;
	return 0;
}

/* Applies the same event to all rows that are not stuck. Returns how many have
 * changed, or -1 if the whole transaction has failed. */
static int end_all(struct supervisor *s, const struct delivery_row *rows, int n,
		   enum delivery_event event, const char *why, struct err *e)
{
	struct stuck_deliveries *stuck = &s->channels->stuck;
	int64_t now_ms = (int64_t)uv_now(&s->loop);
	int changed = 0;

	for (int i = 0; i < n; i++) {
		if (stuck_waits(stuck, rows[i].seq, now_ms))
			continue;
		txn_try_begin(&s->txn);
		if (txn_try_end(&s->txn, end_row(s, &rows[i], event, why, e),
				e) == 0) {
			stuck_remove(stuck, rows[i].seq);
			changed++;
			continue;
		}
		if (!txn_can_commit(&s->txn))
			return -1;
		stuck_add(stuck, &rows[i], now_ms, e);
	}
	return changed;
}

/* Deliveries that a former skepd had in flight become unknown. Those that
 * cannot be changed are left to inflight_expire. */
int inflight_recover(struct supervisor *s, struct err *e)
{
	int max = RECOVER_ROWS + s->channels->stuck.n;
	struct delivery_lost_in in = {s->epoch, max};
	struct delivery_row *rows;
	struct arena a = {0};
	int n = sql_collect(s->db, Q_DELIVERY_LOST, &in, max, &rows, &a, e);
	int changed = n < 0 ? -1
			    : end_all(s, rows, n, DELIVERY_EV_LOSE,
				      "skepd died while it was on its way", e);

	arena_fini(&a);
	if (changed >= 0)
		s->channels->recovering = changed > 0 && n == max;
	return changed;
}

static int end_overdue(struct supervisor *s, int max, struct arena *a,
		       struct err *e)
{
	struct delivery_overdue_in in = {clock_now(), max};
	struct delivery_row *rows;
	int n = sql_collect(s->db, Q_DELIVERY_OVERDUE, &in, max, &rows, a, e);

	return n < 0 ? -1
		     : end_all(s, rows, n, DELIVERY_EV_LOSE, "no answer came",
			       e);
}

static int end_too_old(struct supervisor *s, int max, struct arena *a,
		       struct err *e)
{
	struct delivery_too_old_in in = {clock_now(), max};
	struct delivery_row *rows;
	int n = sql_collect(s->db, Q_DELIVERY_TOO_OLD, &in, max, &rows, a, e);

	return n < 0 ? -1
		     : end_all(s, rows, n, DELIVERY_EV_EXPIRE, "too old", e);
}

/* Usually there is nothing to do and no commit is needed. Rows that are stuck
 * do not count towards the limit: others follow them. */
int inflight_expire(struct supervisor *s, struct err *e)
{
	int max = CLEANUP_ROWS + s->channels->stuck.n;
	struct arena a = {0};
	int late = end_overdue(s, max, &a, e);
	int old = late < 0 ? -1 : end_too_old(s, max, &a, e);

	arena_fini(&a);
	s->channels->cleanup = old < 0;
	if (late >= CLEANUP_ROWS || old >= CLEANUP_ROWS)
		channels_defer_cleanup(s);
	return old < 0 ? -1 : late + old;
}

int inflight_fail_orphans(struct supervisor *s, struct err *e)
{
	int max = CLEANUP_ROWS + s->channels->stuck.n;
	struct delivery_orphan_in in = {max};
	struct delivery_row *rows;
	struct arena a = {0};
	int n = sql_collect(s->db, Q_DELIVERY_ORPHAN, &in, max, &rows, &a, e);
	int changed = n < 0 ? -1
			    : end_all(s, rows, n, DELIVERY_EV_EXPIRE,
				      "the channel was removed", e);

	arena_fini(&a);
	s->channels->orphans = changed < 0;
	if (changed > 0) /* the next deliveries of their queues follow */
		channels_defer_cleanup(s);
	return changed;
}
