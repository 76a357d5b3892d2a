/* From rows to parcels and back: claims, outcomes, what nobody knows. */
#include "supervisor/channel.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BODY_MAX (64u << 20)
#define TOKEN    1000 /* a token of the rate */
#define SICK_MS  1000 /* after a failure of the database */

struct outcome outcome_of(enum delivery_event event, int64_t code,
			  int64_t retry_ms, const char *fmt, ...)
{
	struct outcome o = {.event = event, .code = code, .retry_ms = retry_ms};
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(o.detail, sizeof o.detail, fmt, ap);
	va_end(ap);
	return o;
}

struct parcel *parcel_new(struct channel *c,
			  const struct delivery_claim_row *row)
{
	struct parcel *p = calloc(1, sizeof *p);
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

void parcel_free(struct parcel *p)
{
	buf_fini(&p->body);
	arena_fini(&p->arena);
	free(p);
}

/* --- outcomes --------------------------------------------------------- */

static void add_done(struct channels *k, struct parcel *p)
{
	p->next = NULL;
	*k->done_end = p;
	k->done_end = &p->next;
}

void parcel_done(struct parcel *p, const struct outcome *o)
{
	struct channels *k = p->channel->sup->channels;

	struct err e;

	(void)fault_point(FAULT_delivery_answered, &e);
	p->out = *o;
	if (!p->asking) {
		p->channel->inflight--;
		p->channel->look = true;
	}
	add_done(k, p);
}

static int64_t give_up_after(const struct channel *c)
{
	return c ? c->config.attempts : 1;
}

/* When to try again; OPT_NONE: not any more. */
static int64_t next_try(const struct parcel *p, int64_t now)
{
	const struct channel *c = p->channel;
	uint32_t random;
	int64_t at;

	if (p->row.attempts + 1 >= give_up_after(c))
		return OPT_NONE;
	id_random(&random, sizeof random);
	at = now + delivery_backoff(p->row.attempts + 1, c->config.backoff,
				    c->config.backoff_max, random);
	if (p->out.retry_ms >= 0 && now + p->out.retry_ms > at)
		at = now + p->out.retry_ms;
	if (p->row.expires_at != OPT_NONE && at >= p->row.expires_at)
		return OPT_NONE;
	return at;
}

static struct delivery_end end_of(const struct parcel *p)
{
	return (struct delivery_end){
		.seq = p->row.seq,
		.id = p->row.id,
		.channel = p->to,
		.line = p->row.line,
		.agent = p->row.agent,
		.attempt_id = p->asking ? NULL : p->attempt.text,
		.attempts = p->row.attempts + !p->asking,
		.started_at = p->sent_at,
		.from = p->asking ? DELIVERY_UNKNOWN : DELIVERY_SENDING,
		.event = p->out.event,
		.due_at = OPT_NONE,
		.code = p->out.code,
		.detail = p->out.detail[0] ? p->out.detail : NULL,
		.ref = p->out.ref[0] ? p->out.ref : NULL,
	};
}

static void count(struct channel *c, const struct outcome *o, int64_t now)
{
	if (o->event == DELIVERY_EV_ACK)
		c->delivered++;
	else
		c->failed++;
	if (o->retry_ms > 0 && now + o->retry_ms > c->hold_until)
		c->hold_until = now + o->retry_ms;
}

/* Asked for, and it is as unknown as before. */
static bool still_unknown(const struct parcel *p)
{
	return p->asking && p->out.event != DELIVERY_EV_ACK &&
	       p->out.event != DELIVERY_EV_FAIL;
}

static int settle(struct sup *s, struct parcel *p, int64_t now, struct err *e)
{
	struct channel *c = p->channel;
	struct delivery_end d = end_of(p);
	int n;

	if (still_unknown(p))
		return 0;
	if (c && !p->asking)
		count(c, &p->out, now);
	if (p->asking && d.event == DELIVERY_EV_FAIL)
		d.due_at = now; /* it never came */
	else if (d.event == DELIVERY_EV_FAIL) {
		d.due_at = c ? next_try(p, now) : now;
		if (d.due_at == OPT_NONE)
			d.event = DELIVERY_EV_EXPIRE;
	}
	n = delivery_settle(s->db, &d, now, e);
	if (n > 0 && d.event == DELIVERY_EV_LOSE && c) {
		c->resolve = true;
		if (c->resolved_to >= p->row.seq)
			c->resolved_to = p->row.seq - 1;
	}
	return n < 0 ? -1 : 0;
}

static int write_counts(struct sup *s, struct err *e)
{
	for (struct channel *c = s->channels->first; c; c = c->next) {
		struct channel_count_in in = {c->name, c->delivered, c->failed,
					      0};

		if (c->delivered + c->failed == 0)
			continue;
		if (sql_exec(s->db, Q_CHANNEL_COUNT, &in, e) < 0)
			return -1;
		c->delivered = c->failed = 0;
	}
	return 0;
}

/* After the commit; if it failed they are settled again. */
static void settled(void *arg, const struct err *failed)
{
	struct parcel *list = arg;

	while (list) {
		struct parcel *p = list;

		list = p->next;
		if (!failed || !p->channel) {
			parcel_free(p);
			continue;
		}
		add_done(p->channel->sup->channels, p);
	}
}

/* Up to `budget` outcomes; how many, or -1. */
static int settle_some(struct sup *s, int budget, struct err *e)
{
	struct channels *k = s->channels;
	struct parcel *first = k->done, *last = NULL;
	int64_t now = clock_now();
	int n = 0;

	if (!first)
		return 0;
	if (step_begin(&s->step, e) || fault_point(FAULT_delivery_settling, e))
		return -1;
	for (struct parcel *p = first; p && n < budget; p = p->next, n++) {
		if (settle(s, p, now, e))
			return -1;
		last = p;
	}
	if (write_counts(s, e))
		return -1;
	k->done = last->next;
	if (!k->done)
		k->done_end = &k->done;
	last->next = NULL;
	s->host_changed = true;
	step_then(&s->step, settled, first);
	return n;
}

/* --- claims ----------------------------------------------------------- */

struct batch {
	struct channel *channel; /* looked up again: it may have gone */
	struct sup *sup;
	const char *name;
	struct parcel *first;
};

/* Claimed for a channel that went away meanwhile: not one byte has left. */
static void give_back(struct sup *s, struct parcel *p)
{
	p->channel = NULL;
	p->out = outcome_of(DELIVERY_EV_FAIL, OPT_NONE, -1,
			    "the channel was closed");
	add_done(s->channels, p);
}

/* The claim is on the disk: now, and not before, they leave. */
static void send_batch(void *arg, const struct err *failed)
{
	struct batch *b = arg;
	struct channel *c = channel_find(b->sup, b->name);
	struct err e;

	if (!failed && c == b->channel)
		(void)fault_point(FAULT_delivery_claimed, &e);
	for (struct parcel *p = b->first, *next; p; p = next) {
		next = p->next;
		p->next = NULL;
		if (!failed && c == b->channel) {
			c->ops->send(c, p);
		} else if (!failed) {
			give_back(b->sup, p);
		} else { /* the row was never changed */
			if (c == b->channel)
				c->inflight--;
			parcel_free(p);
		}
	}
	if (!failed && c == b->channel && c->ops->sent_all)
		c->ops->sent_all(c);
}

static struct parcel *parcels_of(struct channel *c,
				 const struct delivery_taken *rows, int n,
				 int64_t now)
{
	struct parcel *first = NULL, **end = &first;

	for (int i = 0; i < n; i++) {
		struct parcel *p = parcel_new(c, &rows[i].row);

		p->attempt = rows[i].attempt;
		p->sent_at = now;
		p->late_ms = (int64_t)uv_now(&c->sup->loop) + c->config.timeout;
		*end = p;
		end = &p->next;
	}
	c->inflight += n;
	return first;
}

/* How many may leave now. */
static int room(struct channel *c, int budget, int64_t now)
{
	int64_t n = c->config.inflight - c->inflight, rate = c->config.rate;

	if (c->paused || c->hold_until > now || !c->ops->ready(c))
		return 0;
	if (rate > 0) {
		c->tokens += (now - c->refilled_at) * rate;
		if (c->tokens > rate * TOKEN)
			c->tokens = rate * TOKEN;
		c->refilled_at = now;
		if (n > c->tokens / TOKEN)
			n = c->tokens / TOKEN;
	}
	return (int)(n < budget ? n : budget);
}

/* When to look again, if nothing else makes us. */
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

static int claim(struct channel *c, int max, int64_t now, struct err *e)
{
	struct sup *s = c->sup;
	struct delivery_take t = {
		.channel = c->name,
		.epoch = s->epoch,
		.lease_ms = c->config.timeout,
		.now = now,
		.max = max,
	};
	struct delivery_taken *rows;
	struct arena a = {0};
	struct batch *b;
	int n = -1;

	if (step_begin(&s->step, e) == 0)
		n = delivery_take(s->db, &t, &rows, &a, e);
	if (n > 0) {
		b = step_alloc(&s->step, sizeof *b);
		*b = (struct batch){c, s, step_text(&s->step, c->name),
				    parcels_of(c, rows, n, now)};
		if (c->config.rate)
			c->tokens -= (int64_t)n * TOKEN;
		step_then(&s->step, send_batch, b);
	}
	arena_fini(&a);
	return n;
}

static int claim_for(struct channel *c, int budget, struct err *e)
{
	int64_t now = clock_now();
	int max, n;

	if (c->ops->pull) {
		c->look = false;
		return c->ops->pull(c, e);
	}
	max = room(c, budget, now);
	if (max <= 0) {
		bool rated = c->config.rate > 0 && !c->paused &&
			     c->inflight < c->config.inflight;

		/* With the hold over, or a token there, the timer comes. */
		if (rated || c->hold_until > now) {
			c->look = false;
			return set_next(c, now, e);
		}
		return 0;
	}
	n = claim(c, max, now, e);
	if (n < max && n >= 0) {
		c->look = false;
		if (set_next(c, now, e))
			return -1;
	}
	return n;
}

struct parcel *parcel_pull(struct channel *c, const char *conversation,
			   struct err *e)
{
	struct sup *s = c->sup;
	struct delivery_take t = {
		.channel = c->name,
		.conversation = conversation,
		.epoch = s->epoch,
		.lease_ms = c->config.timeout,
		.now = clock_now(),
		.max = 1,
	};
	struct delivery_taken *rows;
	struct parcel *p = NULL;
	struct arena a = {0};

	if (!c->paused && step_begin(&s->step, e) == 0 &&
	    delivery_take(s->db, &t, &rows, &a, e) == 1) {
		p = parcels_of(c, rows, 1, t.now);
	}
	arena_fini(&a);
	return p;
}

/* --- a step ----------------------------------------------------------- */

static int step(struct sup *s, int budget, struct err *e)
{
	struct channels *k = s->channels;
	int n = settle_some(s, budget, e);

	if (n < 0)
		return -1;
	budget -= n;
	if (k->recovering)
		return parcels_recover(s, e);
	for (struct channel *c = k->first; c && budget > 0; c = c->next) {
		if (parcels_resolve(c, e) < 0)
			return -1;
		if (!c->look)
			continue;
		n = claim_for(c, budget, e);
		if (n < 0)
			return -1;
		budget -= n;
	}
	return 0;
}

void parcels_last(struct sup *s)
{
	struct err e;

	if (settle_some(s, INT_MAX, &e) < 0)
		log_error(LT("msg", "deliveries cannot be settled"),
			  LT("error", e.text));
}

/* A failure makes the step fail as a whole, by the error of its commit: memory
 * then follows the rows. */
void parcels_step(struct sup *s)
{
	struct channels *k = s->channels;
	struct err e;

	if (!k || k->closing || k->sick_until > clock_now())
		return;
	if (step(s, (int)s->config.channel_batch, &e)) {
		log_error(LT("msg", "deliveries cannot be moved"),
			  LT("error", e.text));
		k->sick_until = clock_now() + SICK_MS;
	}
	parcels_due(s);
}
