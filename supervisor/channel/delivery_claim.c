/* Claims due deliveries; they are sent after the commit. */
#include "supervisor/channel/delivery_events.h"

#include "lib/base/clock.h"
#include "lib/base/fault.h"

#define TOKEN    1000  /* units of `tokens` per delivery */
#define SLACK_MS 10000 /* a lease is longer than the time-out of an attempt */

struct batch {
	struct channel *channel; /* stays open while deliveries are in flight */
	struct inflight *first;
};

/* Claimed for a channel that drains: nothing was sent. */
static void return_unsent(struct supervisor *s, struct inflight *p)
{
	p->channel = NULL;
	p->out = outcome_of(DELIVERY_EV_FAIL, OPT_NONE, -1,
			    "the channel was closed");
	inflight_record_outcome(s, p);
}

/* Its conversation was deleted with a former channel of this name. Without it
 * the message could go to a wrong receiver. */
static bool has_lost_conversation(const struct inflight *p)
{
	return p->row.conversation && !p->row.peer;
}

static void send_one(struct channel *c, struct inflight *p)
{
	struct outcome lost;

	if (!has_lost_conversation(p)) {
		c->ops->send(c, p);
		return;
	}
	lost = outcome_of(DELIVERY_EV_REFUSE, OPT_NONE, -1,
			  "its conversation was deleted with its channel%s",
			  p->row.conversation[0] == '{'
				  ? "; 'skep delivery retry' reopens it"
				  : "");
	inflight_done(p, &lost);
}

/* The claims are committed: sends the deliveries. The same commit may have
 * disabled the channel, which then waits for its deliveries in flight. So each
 * one is sent or no longer counted as in flight. */
static void send_batch(void *arg, const struct err *failed)
{
	struct batch *b = arg;
	struct channel *c = b->channel;
	bool go = !failed && !c->draining;
	struct err e;

	if (go)
		(void)fault_point(FAULT_delivery_claimed, &e);
	for (struct inflight *p = b->first, *next; p; p = next) {
		next = p->next;
		p->next = NULL;
		if (go) {
			send_one(c, p);
			continue;
		}
		c->inflight--;
		if (failed) /* the row was not changed */
			inflight_free(p);
		else
			return_unsent(c->sup, p);
	}
	if (go) {
		if (c->ops->sent_all)
			c->ops->sent_all(c);
		(void)fault_point(FAULT_delivery_sent, &e);
	}
}

static struct inflight *inflight_of(struct channel *c,
				    const struct claimed_delivery *rows, int n,
				    int64_t now)
{
	struct inflight *first = NULL, **end = &first;

	for (int i = 0; i < n; i++) {
		struct inflight *p = inflight_new(c, &rows[i].row);

		p->attempt = rows[i].attempt;
		p->sent_at = now;
		p->deadline_ms = (int64_t)uv_now(&c->sup->loop) +
				 c->config.timeout;
		*end = p;
		end = &p->next;
	}
	c->inflight += n;
	return first;
}

/* How many deliveries may be claimed now. */
static int free_slots(struct channel *c, int budget, int64_t now)
{
	int64_t n = c->config.inflight - c->inflight, rate = c->config.rate;
	int64_t ms = clock_mono_ns() / 1000000; /* the monotonic clock */

	if (c->paused || c->hold_until > now || !c->ops->ready(c))
		return 0;
	if (rate > 0) {
		c->tokens += (ms - c->refilled_ms) * rate;
		if (c->tokens > rate * TOKEN)
			c->tokens = rate * TOKEN;
		c->refilled_ms = ms;
		if (n > c->tokens / TOKEN)
			n = c->tokens / TOKEN;
	}
	return (int)(n < budget ? n : budget);
}

/* Sets the time of the next claim. */
static int set_next(struct channel *c, int64_t now, struct err *e)
{
	struct delivery_next_due_row row = {OPT_NONE};
	int found = sql_get(c->sup->db, Q_DELIVERY_NEXT_DUE,
			    &(struct delivery_next_due_in){c->name}, &row, NULL,
			    e);

	c->next_due = found == 1 ? row.due_at : OPT_NONE;
	if (c->next_due != OPT_NONE && c->next_due <= now) /* no tokens left */
		c->next_due = now + 1 +
			      (c->config.rate ? TOKEN / c->config.rate : 0);
	return found < 0 ? -1 : 0;
}

static int store_in_transaction(struct channel *c,
				const struct delivery_claim *t,
				struct claimed_delivery **rows, struct arena *a,
				struct err *e)
{
	struct supervisor *s = c->sup;
	int n = txn_begin(&s->txn, e) ? -1
				      : delivery_claim(s->db, t, rows, a, e);

	if (n > 0 && delivery_event_claimed(c, *rows, n, t->now, e))
		return -1;
	return n;
}

/* All of them or none. */
static int claim_rows(struct channel *c, const struct delivery_claim *t,
		      struct claimed_delivery **rows, struct arena *a,
		      struct err *e)
{
	struct txn *txn = &c->sup->txn;

	txn_try_begin(txn);
	return txn_try_end(txn, store_in_transaction(c, t, rows, a, e), e);
}

static int claim_due(struct channel *c, int max, int64_t now, struct err *e)
{
	struct supervisor *s = c->sup;
	struct delivery_claim t = {
		.channel = c->name,
		.epoch = s->epoch,
		.lease_ms = c->config.timeout + SLACK_MS,
		.now = now,
		.max = max,
	};
	struct claimed_delivery *rows;
	struct arena a = {0};
	struct batch *b;
	int n = claim_rows(c, &t, &rows, &a, e);

	if (n > 0) {
		b = txn_alloc(&s->txn, sizeof *b);
		*b = (struct batch){c, inflight_of(c, rows, n, now)};
		if (c->config.rate)
			c->tokens -= (int64_t)n * TOKEN;
		txn_on_commit(&s->txn, send_batch, b);
	}
	arena_fini(&a);
	return n;
}

/* Stores the pause in the row, for users and for the next skepd. */
static int store_hold(struct channel *c, int64_t now, struct err *e)
{
	int64_t until = c->hold_until > now ? c->hold_until : 0;
	struct channel_hold_in in = {c->name, until ? until : OPT_NONE};

	if (until == c->hold_stored)
		return 0;
	if (txn_begin(&c->sup->txn, e) ||
	    sql_exec(c->sup->db, Q_CHANNEL_HOLD, &in, e) < 0)
		return -1;
	c->hold_stored = until;
	return 0;
}

int inflight_claim(struct channel *c, int budget, struct err *e)
{
	int64_t now = clock_now();
	int max, n;

	if (store_hold(c, now, e))
		return -1;

	if (c->ops->pull) {
		c->may_be_due = false;
		return c->ops->pull(c, e);
	}
	max = free_slots(c, budget, now);
	if (max <= 0) {
		bool rated = c->config.rate > 0 && !c->paused &&
			     c->inflight < c->config.inflight;

		/* The timer continues after the pause or with the next
		 * token. */
		if (rated || c->hold_until > now) {
			c->may_be_due = false;
			return set_next(c, now, e);
		}
		return 0;
	}
	n = claim_due(c, max, now, e);
	if (n < max && n >= 0) {
		c->may_be_due = false;
		if (set_next(c, now, e))
			return -1;
	}
	return n;
}

struct inflight *inflight_pull(struct channel *c, const char *conversation,
			       struct err *e)
{
	struct supervisor *s = c->sup;
	struct delivery_claim t = {
		.channel = c->name,
		.conversation = conversation,
		.epoch = s->epoch,
		.lease_ms = c->config.timeout + SLACK_MS,
		.now = clock_now(),
		.max = 1,
	};
	struct claimed_delivery *rows;
	struct inflight *p = NULL;
	struct arena a = {0};

	if (!c->paused && claim_rows(c, &t, &rows, &a, e) == 1)
		p = inflight_of(c, rows, 1, t.now);
	arena_fini(&a);
	return p;
}
