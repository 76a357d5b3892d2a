/* The work on deliveries in a turn of the loop, and the timer for the next
 * one. */
#include "supervisor/channel/delivery.h"
#include "supervisor/channel/internal.h"

#include "lib/base/clock.h"
#include "lib/base/log.h"

#include <limits.h>

/* How many were claimed, or -1. */
static int pump_channel(struct channel *c, int budget, struct err *e)
{
	if (inflight_resolve_unknown(c, e) < 0)
		return -1;
	return c->may_be_due ? inflight_claim(c, budget, e) : 0;
}

/* A channel whose rows cannot be changed waits, and the others do not. */
static int pump_each(struct supervisor *s, int budget, struct err *e)
{
	struct channels *k = s->channels;
	int64_t now = clock_now();

	for (struct channel *c = k->first; c && budget > 0 && !k->draining;
	     c = c->next) {
		int n;

		if (c->draining || c->suspended_until > now)
			continue;
		n = pump_channel(c, budget, e);
		if (n >= 0) {
			budget -= n;
			continue;
		}
		if (!txn_can_commit(&s->txn))
			return -1;
		log_error(LT("msg", "cannot claim deliveries"),
			  LT("channel", c->name), LT("error", e->text));
		c->suspended_until = now + DELIVERY_RETRY_DB_MS;
	}
	return 0;
}

static int pump_channels(struct supervisor *s, int budget, struct err *e)
{
	struct channels *k = s->channels;
	int n = inflight_record_outcomes(s, budget, e);

	if (n < 0)
		return -1;
	if (k->recovering && inflight_recover(s, e) < 0)
		return -1;
	if (k->recovering)
		return 0;
	if ((k->cleanup && inflight_expire(s, e) < 0) ||
	    (k->orphans && inflight_fail_orphans(s, e) < 0))
		return -1;
	return pump_each(s, budget - n, e);
}

void inflight_record_last(struct supervisor *s)
{
	struct err e;

	for (struct inflight *p = s->channels->done; p; p = p->next)
		p->again_ms = 0; /* there is no later */
	if (inflight_record_outcomes(s, INT_MAX, &e) < 0)
		log_error(LT("msg", "cannot record the outcomes of deliveries"),
			  LT("error", e.text));
}

static void inflight_set_timer(struct supervisor *s);

/* Each delivery, or the claims of a channel, can fail on their own. If the whole
 * transaction has failed, its commit says so: memory then follows the rows. */
void inflight_before_commit(struct supervisor *s)
{
	struct channels *k = s->channels;
	struct err e;

	if (!k || k->closing || k->suspended_until > clock_now())
		return;
	if (pump_channels(s, (int)s->config.channel_batch, &e)) {
		log_error(LT("msg", "cannot process deliveries"),
			  LT("error", e.text));
		k->suspended_until = clock_now() + DELIVERY_RETRY_DB_MS;
	}
	inflight_set_timer(s);
	inflight_end_if_none(s);
}

/* Reading at once would repeat in the same turn of the loop without end. */
void inflight_reload(struct supervisor *s)
{
	struct channels *k = s->channels;

	if (!k)
		return;
	k->suspended_until = clock_now() + DELIVERY_RETRY_DB_MS;
	k->recovering = k->cleanup = k->orphans = true;
	for (struct channel *c = k->first; c; c = c->next) {
		c->may_be_due = c->resolve = true;
		c->resolved_to = c->hold_stored = 0;
	}
}

void inflight_end_if_none(struct supervisor *s)
{
	struct channels *k = s->channels;
	bool busy = k->done != NULL;

	if (!k->draining)
		return;
	for (struct channel *c = k->first; c; c = c->next)
		busy |= !c->ops->pull && c->inflight > 0;
	if (!busy || (int64_t)uv_now(&s->loop) >= k->drain_until_ms)
		uv_stop(&s->loop);
}

static void inflight_set_timer(struct supervisor *s)
{
	struct channels *k = s->channels;
	int64_t now = clock_now(), at = OPT_NONE;

	for (struct channel *c = k->first; c; c = c->next) {
		int64_t due = c->next_due;

		if (due == OPT_NONE || c->paused || c->draining ||
		    !c->ops->ready(c))
			continue;
		if (due < c->hold_until)
			due = c->hold_until;
		if (at == OPT_NONE || due < at)
			at = due;
	}
	if (at == k->due_at || k->closing)
		return;
	k->due_at = at;
	if (at == OPT_NONE)
		uv_timer_stop(&k->due);
	else
		uv_timer_start(&k->due, channels_on_due,
			       at > now ? (uint64_t)(at - now) : 1, 0);
}
