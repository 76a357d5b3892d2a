/* Claimed deliveries, and how their outcomes are recorded. */
#include "supervisor/channel/delivery.h"
#include "supervisor/channel/internal.h"

#include "lib/base/backoff.h"
#include "lib/base/clock.h"
#include "lib/base/fault.h"
#include "lib/base/log.h"
#include "lib/base/text.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BODY_MAX (64u << 20)

struct outcome outcome_of(enum delivery_event event, int64_t code,
			  int64_t retry_ms, const char *fmt, ...)
{
	struct outcome o = {.event = event, .code = code, .retry_ms = retry_ms};
	va_list ap;

	va_start(ap, fmt);
	if (vsnprintf(o.detail, sizeof o.detail, fmt, ap) >=
	    (int)sizeof o.detail)
		text_mark_cut(o.detail, sizeof o.detail);
	va_end(ap);
	text_clean(o.detail); /* it may contain text of the receiver */
	return o;
}

struct inflight *inflight_new(struct channel *c,
			      const struct delivery_claim_row *row)
{
	struct inflight *p = calloc(1, sizeof *p);
	const struct shape *shape = &delivery_claim_row_shape;

	if (!p)
		abort();
	p->channel = c;
	p->to = arena_text(&p->arena, c->name);
	p->row = *row;
	for (size_t i = 0; i < shape->nfields; i++) {
		const struct field *f = &shape->fields[i];
		const char **text = field_out(f, &p->row);

		if (f->type == FIELD_text || f->type == FIELD_json)
			*text = arena_text(&p->arena, *text);
	}
	buf_init(&p->body, BODY_MAX);
	return p;
}

void inflight_free(struct inflight *p)
{
	buf_fini(&p->body);
	arena_fini(&p->arena);
	free(p);
}

/* --- outcomes --------------------------------------------------------- */

void inflight_record_outcome(struct supervisor *s, struct inflight *p)
{
	struct channels *k = s->channels;

	p->next = NULL;
	*k->done_end = p;
	k->done_end = &p->next;
}

void inflight_done(struct inflight *p, const struct outcome *o)
{
	struct err e;

	(void)fault_point(FAULT_delivery_answered, &e);
	p->out = *o;
	if (!p->asking)
		p->channel->inflight--;
	inflight_record_outcome(p->channel->sup, p);
}

int64_t inflight_next_attempt(const struct channel *c, int64_t attempts,
			      int64_t expires_at, int64_t now)
{
	uint32_t random;
	int64_t at;

	if (c->ops->pull)
		return now; /* the client sets the pace */
	if (attempts >= c->config.attempts)
		return OPT_NONE;
	id_random(&random, sizeof random);
	at = now + backoff_spread(backoff_next(attempts, c->config.backoff,
					       c->config.backoff_max),
				  random);
	return expires_at != OPT_NONE && at >= expires_at ? OPT_NONE : at;
}

/* The same after an outcome; the receiver may have requested a longer delay. */
static int64_t next_attempt_after(const struct inflight *p,
				  const struct delivery_end *d, int64_t now)
{
	int64_t at = inflight_next_attempt(p->channel, d->attempts,
					   p->row.expires_at, now);
	int64_t requested_at = now + p->out.retry_ms;

	if (at == OPT_NONE || p->out.retry_ms < 0 || requested_at <= at)
		return at;
	return p->row.expires_at != OPT_NONE &&
			       requested_at >= p->row.expires_at
		       ? OPT_NONE
		       : requested_at;
}

static struct delivery_end end_of(const struct inflight *p)
{
	return (struct delivery_end){
		.seq = p->row.seq,
		.id = p->row.id,
		.channel = p->to,
		.ordering_key = p->row.ordering_key,
		.agent = p->row.agent,
		.attempt_id = p->attempt.text[0] ? p->attempt.text : NULL,
		.attempts = p->row.attempts + !p->asking,
		.started_at = p->sent_at,
		.from = p->asking ? DELIVERY_UNKNOWN : DELIVERY_SENDING,
		.event = p->out.event,
		.due_at = OPT_NONE,
		.remote_status = p->out.code,
		.detail = p->out.detail[0] ? p->out.detail : NULL,
		.remote_id = p->out.ref[0] ? p->out.ref : NULL,
	};
}

/* Reported once, not for each delivery in flight. */
static void pause_channel(struct channel *c, const struct outcome *o,
			  int64_t now)
{
	char text[96];

	if (c->hold_until <= now) {
		snprintf(text, sizeof text,
			 "the receiver asked for a pause of %lld s",
			 (long long)(o->retry_ms / 1000));
		channel_set_error(c, text);
	}
	if (now + o->retry_ms > c->hold_until)
		c->hold_until = now + o->retry_ms;
}

static void count_outcome(struct channel *c, const struct outcome *o,
			  int64_t now)
{
	if (o->event == DELIVERY_EV_ACK)
		c->delivered++;
	else
		c->failed++;
	if (o->retry_ms > 0)
		pause_channel(c, o, now);
}

/* The query had no result: the delivery stays unknown and no longer blocks its
 * queue. */
static void keep_unknown(struct channel *c, const struct inflight *p,
			 struct delivery_end *d, int64_t now)
{
	if (d->event == DELIVERY_EV_ACK || d->event == DELIVERY_EV_FAIL) {
		if (c)
			c->resolve_failures = 0;
		return;
	}
	if (c)
		inflight_resolve_later(c, now);
	d->event = DELIVERY_EV_REVIEW;
	d->remote_status = p->code;
	d->detail = p->why;
}

/* Schedules the next attempt, or expires the delivery after the last one. */
static void schedule_retry(struct channel *c, const struct inflight *p,
			   struct delivery_end *d, int64_t now)
{
	d->due_at = c && !p->out.not_counted ? next_attempt_after(p, d, now)
					     : now;
	if (d->due_at == OPT_NONE)
		d->event = DELIVERY_EV_EXPIRE;
}

static void keep_dead(struct channel *c, const struct delivery_end *d)
{
	if (snprintf(c->dead, sizeof c->dead, "delivery %s is dead: %s", d->id,
		     d->detail ? d->detail : "tried too often") >=
	    (int)sizeof c->dead)
		text_mark_cut(c->dead, sizeof c->dead);
}

static int record_outcome(struct supervisor *s, struct inflight *p, int64_t now,
			  struct err *e)
{
	struct channel *c = p->channel;
	struct delivery_end d = end_of(p);
	int n;

	if (c)
		/* a slot is free, or the delivery waits again */
		c->may_be_due = true;
	if (c && !p->asking)
		count_outcome(c, &p->out, now);
	if (p->asking)
		keep_unknown(c, p, &d, now);
	if (d.event == DELIVERY_EV_FAIL)
		schedule_retry(c, p, &d, now);
	n = delivery_record(s->db, &d, now, e);
	if (n > 0 && c && delivery_fsm(d.from, d.event).to == DELIVERY_DEAD)
		keep_dead(c, &d);
	if (n == 0 && d.from == DELIVERY_SENDING &&
	    /* acknowledged after the lease ran out */
	    d.event == DELIVERY_EV_ACK) {
		d.from = DELIVERY_UNKNOWN;
		n = delivery_record(s->db, &d, now, e);
	}
	if (n > 0 && d.event == DELIVERY_EV_LOSE && c)
		inflight_resolve_from(c, p->row.seq);
	return n < 0 ? -1 : 0;
}

/* The last one of this turn: a channel may lose thousands at once. */
static int write_dead(struct supervisor *s, struct channel *c, struct err *e)
{
	struct channel_set_error_in in = {c->name, c->dead, clock_now()};

	if (!c->dead[0])
		return 0;
	return sql_exec(s->db, Q_CHANNEL_SET_ERROR, &in, e) < 0 ? -1 : 0;
}

static int write_counts(struct supervisor *s, struct err *e)
{
	for (struct channel *c = s->channels->first; c; c = c->next) {
		struct channel_count_in in = {c->name, c->delivered, c->failed,
					      0};

		if (c->delivered + c->failed == 0)
			continue;
		if (sql_exec(s->db, Q_CHANNEL_COUNT, &in, e) < 0 ||
		    write_dead(s, c, e))
			return -1;
	}
	return 0;
}

/* Outcomes are counted once, even if a failed commit makes skepd record them
 * twice. */
static void clear_counts(struct supervisor *s)
{
	for (struct channel *c = s->channels->first; c; c = c->next) {
		c->delivered = c->failed = 0;
		c->dead[0] = '\0';
	}
}

/* If the commit failed, the outcomes are recorded again. */
static void outcomes_committed(void *arg, const struct err *failed)
{
	struct inflight *list = arg;

	while (list) {
		struct inflight *p = list;

		list = p->next;
		if (!failed || !p->channel) {
			inflight_free(p);
			continue;
		}
		inflight_record_outcome(p->channel->sup, p);
	}
}

/* Removes the outcomes that are due from the list. */
static struct inflight *take_outcomes(struct supervisor *s, int budget)
{
	struct channels *k = s->channels;
	struct inflight *taken = NULL, **end = &taken, **at = &k->done;
	int64_t now = (int64_t)uv_now(&s->loop);

	while (*at && budget > 0) {
		struct inflight *p = *at;

		if (p->again_ms > now) {
			at = &p->next;
			continue;
		}
		*at = p->next;
		*end = p;
		end = &p->next;
		budget--;
	}
	*end = NULL;
	if (!*at)
		k->done_end = at;
	return taken;
}

/* Returns how many there were. */
static int record_list(struct supervisor *s, struct inflight *list,
		       struct err *e)
{
	int64_t now = clock_now();
	int n = 0;

	if (txn_begin(&s->txn, e) || fault_point(FAULT_outcomes_recording, e))
		return -1;
	clear_counts(s);
	for (struct inflight *p = list; p; p = p->next, n++)
		if (record_outcome(s, p, now, e))
			return -1;
	if (write_counts(s, e))
		return -1;
	txn_on_commit(&s->txn, outcomes_committed, list);
	return n;
}

static int try_list(struct supervisor *s, struct inflight *list, struct err *e)
{
	txn_try_begin(&s->txn);
	return txn_try_end(&s->txn, record_list(s, list, e), e);
}

static void record_later(struct supervisor *s, struct inflight *p)
{
	p->again_ms = (int64_t)uv_now(&s->loop) + DELIVERY_RETRY_DB_MS;
	inflight_record_outcome(s, p);
}

/* Each in a savepoint of its own. */
static int record_each(struct supervisor *s, struct inflight *list,
		       struct err *e)
{
	struct inflight *next;
	int n = 0;

	for (struct inflight *p = list; p; p = next) {
		next = p->next;
		p->next = NULL;
		if (txn_can_commit(&s->txn) && try_list(s, p, e) > 0) {
			n++;
			continue;
		}
		if (txn_can_commit(&s->txn))
			log_error(LT("msg",
				     "cannot record the outcome of a delivery"),
				  LT("delivery", p->row.id),
				  LT("error", e->text));
		record_later(s, p);
	}
	return txn_can_commit(&s->txn) ? n : -1;
}

int inflight_record_outcomes(struct supervisor *s, int budget, struct err *e)
{
	struct inflight *list = take_outcomes(s, budget);
	int n;

	if (!list)
		return 0;
	n = try_list(s, list, e);
	if (n < 0) {
		log_warn(LT("msg", "outcomes are recorded one by one"),
			 LT("error", e->text));
		n = record_each(s, list, e);
	}
	if (n > 0) {
		s->channels->outcomes += n;
		s->host_changed = true;
	}
	return n;
}
