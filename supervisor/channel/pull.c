/*
 * pull: for clients that poll, such as skep chat. A request waits until its
 * conversation has a message; the next request acknowledges it. A client that
 * disconnects without an acknowledgement gets the message again, with the same
 * id.
 */
#include "supervisor/channel/pull.h"

#include "lib/base/clock.h"
#include "supervisor/channel/envelope.h"

#include <stdlib.h>
#include <string.h>

struct waiter {
	struct waiter *next;
	char conversation[ID_SIZE];
	int64_t until_ms; /* uv_now */
	pull_answer *answer;
	void *arg;
};

struct pull {
	struct waiter *waiters;
	struct inflight *shown; /* not yet acknowledged */
};

static int pull_open(struct channel *c, struct err *e)
{
	struct delivery_order_by_conversation_in in = {c->name};

	if (txn_begin(&c->sup->txn, e) ||
	    sql_exec(c->sup->db, Q_DELIVERY_ORDER_BY_CONVERSATION, &in, e) < 0)
		return -1;
	c->own = calloc(1, sizeof(struct pull));
	if (!c->own)
		abort();
	return 0;
}

static void answer_waiter(struct waiter *w, const char *json)
{
	w->answer(w->arg, json);
	free(w);
}

static void end_inflight(struct pull *t, struct inflight *p,
			 enum delivery_event how, const char *why)
{
	struct outcome o = outcome_of(how, OPT_NONE, -1, "%s", why);
	struct inflight **at = &t->shown;

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	inflight_done(p, &o);
}

static void pull_close(struct channel *c)
{
	struct pull *t = c->own;

	while (t->waiters) {
		struct waiter *w = t->waiters;

		t->waiters = w->next;
		answer_waiter(w, NULL);
	}
	while (t->shown)
		end_inflight(t, t->shown, DELIVERY_EV_LOSE,
			     "the channel was closed");
	free(t);
}

static bool pull_ready(const struct channel *c)
{
	(void)c;
	return true;
}

/* --- delivering to clients
 * --------------------------------------------------- */

struct shown {
	struct waiter *waiter;
	struct supervisor *sup;
	const char *name;
	struct inflight *delivery;
};

/* After the commit of the claim. */
static void show_delivery(void *arg, const struct err *failed)
{
	struct shown *s = arg;
	struct inflight *p = s->delivery;
	struct channel *c = channel_find(s->sup, s->name);
	struct pull *t;
	struct err e;

	if (c != p->channel)
		c = NULL; /* reopened meanwhile; the lease will expire */
	t = c ? c->own : NULL;
	if (!failed && t && envelope_write_data(p, true, &p->body, &e) == 0) {
		p->next = t->shown;
		t->shown = p;
		answer_waiter(s->waiter, p->body.p);
		return;
	}
	answer_waiter(s->waiter, NULL);
	if (failed && c)
		c->inflight--;
	inflight_free(p);
}

/* There is no message: answers the waiter if its time is up. Returns the next
 * link. */
static struct waiter **answer_if_expired(struct waiter **at, int64_t now)
{
	struct waiter *w = *at;

	if (w->until_ms > now)
		return &w->next;
	*at = w->next;
	answer_waiter(w, NULL);
	return at;
}

static int pull_pull(struct channel *c, struct err *e)
{
	struct pull *t = c->own;
	struct waiter **at = &t->waiters;
	int64_t now = (int64_t)uv_now(&c->sup->loop);
	int n = 0;

	while (*at) {
		struct waiter *w = *at;
		struct err why = {0};
		struct inflight *p = inflight_pull(c, w->conversation, &why);
		struct shown *s;

		if (!p && why.code != ERR_OK) {
			*e = why;
			return -1;
		}
		if (!p) {
			at = answer_if_expired(at, now);
			continue;
		}
		*at = w->next;
		s = txn_alloc(&c->sup->txn, sizeof *s);
		*s = (struct shown){w, c->sup, txn_text(&c->sup->txn, c->name),
				    p};
		txn_on_commit(&c->sup->txn, show_delivery, s);
		n++;
	}
	return n;
}

static void pull_tick(struct channel *c)
{
	struct pull *t = c->own;
	int64_t now = (int64_t)uv_now(&c->sup->loop);
	struct waiter **at = &t->waiters;
	struct inflight *next;

	while (*at)
		at = answer_if_expired(at, now);
	for (struct inflight *p = t->shown; p; p = next) {
		next = p->next;
		if (p->deadline_ms <= now)
			end_inflight(t, p, DELIVERY_EV_LOSE,
				     "the client did not acknowledge it");
	}
}

void pull_wait(struct channel *c, const char *conversation, int64_t ms,
	       pull_answer *fn, void *arg)
{
	struct pull *t = c->own;
	struct waiter *w = calloc(1, sizeof *w);

	if (!w)
		abort();
	snprintf(w->conversation, sizeof w->conversation, "%s", conversation);
	w->until_ms = (int64_t)uv_now(&c->sup->loop) + ms;
	w->answer = fn;
	w->arg = arg;
	w->next = t->waiters;
	t->waiters = w;
	c->may_be_due = true;
}

bool pull_ack(struct channel *c, const char *delivery)
{
	struct pull *t = c->own;

	for (struct inflight *p = t->shown; p; p = p->next)
		if (!strcmp(p->row.id, delivery)) {
			end_inflight(t, p, DELIVERY_EV_ACK, "");
			return true;
		}
	return false;
}

const struct channel_ops channel_pull = {
	.kind = "pull",
	.idempotent = true,
	.open = pull_open,
	.close = pull_close,
	.ready = pull_ready,
	.pull = pull_pull,
	.tick = pull_tick,
};
