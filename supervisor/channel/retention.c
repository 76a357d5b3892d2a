#include "supervisor/channel/retention.h"

#include "supervisor/channel/internal.h"

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/json/json.h"
#include "schema/control/control.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEP              16
#define BATCH_NS          4000000 /* of a turn of the loop … */
#define PAUSE_MS          20      /* … then a pause for other work */
#define PRUNE_INTERVAL_MS (10 * 60000)
#define LEAST_MS          1000
/* an interval is at most this part of a retention time */
#define PARTS 8

struct retention {
	uv_timer_t timer;
	struct message_retention walk; /* the scheduled walk */
	bool walking;
	struct message_retention by_command; /* the walk of a command */
	int64_t bytes; /* size of the deleted attachments, not committed yet */
};

static int64_t cutoff(int64_t keep, int64_t now)
{
	return keep ? now - keep : 0;
}

static struct retention_options options_of(const struct config *c, int64_t now)
{
	return (struct retention_options){
		.deliveries_before = cutoff(c->channel_keep, now),
		.inbound_before = cutoff(c->channel_keep_inbound, now),
		.dead_before = cutoff(c->channel_keep_dead, now),
	};
}

/* The time until the next walk: messages that are kept for long need not be
 * deleted to the minute. */
static int64_t next_interval(const struct config *c)
{
	const int64_t keeps[] = {c->channel_keep, c->channel_keep_inbound,
				 c->channel_keep_dead};
	int64_t wait = PRUNE_INTERVAL_MS;

	for (size_t i = 0; i < sizeof keeps / sizeof keeps[0]; i++)
		if (keeps[i] && keeps[i] / PARTS < wait)
			wait = keeps[i] / PARTS;
	return wait < LEAST_MS ? LEAST_MS : wait;
}

static void batch_committed(void *arg, const struct err *failed)
{
	struct supervisor *s = arg;

	if (!failed)
		s->attachments.bytes -= s->channels->retention->bytes;
	s->channels->retention->bytes = 0;
}

/* After a rollback the walk starts again. */
static void restart_walk(void *arg)
{
	struct supervisor *s = arg;

	s->channels->retention->walking = false;
	s->channels->retention->by_command = (struct message_retention){0};
	s->channels->retention->bytes = 0;
}

/* Runs one batch. Returns the number of examined rows, 0 at the end, or -1. */
static int run_batch(struct supervisor *s, struct message_retention *r,
		     struct err *e)
{
	int64_t until = clock_mono_ns() + BATCH_NS;
	int64_t bytes = r->bytes;
	int n, sum = 0;

	if (txn_begin(&s->txn, e))
		return -1;
	txn_on_commit(&s->txn, batch_committed, s);
	txn_on_rollback(&s->txn, restart_walk, s);
	do {
		n = message_retention_step(r, s->db, STEP, e);
		sum += n;
	} while (n > 0 && clock_mono_ns() < until);
	s->channels->retention->bytes += r->bytes - bytes;
	return n < 0 ? -1 : sum;
}

static int log_retention(struct supervisor *s,
			 const struct retention_result *sum, struct err *e)
{
	struct buf detail = BUF_MAX(512);
	int rc;

	if (sum->deliveries + sum->inbound + sum->messages == 0)
		return 0;
	log_info(LT("msg", "old messages were deleted"),
		 LI("deliveries", sum->deliveries), LI("inbound", sum->inbound),
		 LI("messages", sum->messages),
		 LI("attachments", sum->attachments));
	json_add_shape(&detail, &retention_result_shape, sum);
	rc = control_audit(s->db, "skepd", "message.prune", NULL, detail.p, e);
	buf_fini(&detail);
	return rc;
}

static void on_timer(uv_timer_t *t)
{
	struct supervisor *s = t->data;
	struct retention *w = s->channels->retention;
	struct retention_options req = options_of(&s->config, clock_now());
	struct err e;
	int n;

	if (!w->walking)
		message_retention_begin(&w->walk, &req);
	w->walking = true;
	txn_try_begin(&s->txn);
	n = run_batch(s, &w->walk, &e);
	if (n == 0 && log_retention(s, &w->walk.sum, &e))
		n = -1;
	n = txn_try_end(&s->txn, n, &e);
	if (n < 0)
		log_error(LT("msg", "cannot delete old messages"),
			  LT("error", e.text));
	w->walking = n > 0;
	uv_timer_start(t, on_timer,
		       n > 0 ? PAUSE_MS : (uint64_t)next_interval(&s->config),
		       0);
}

int retention_open(struct supervisor *s, struct err *e)
{
	struct retention *w = calloc(1, sizeof *w);

	(void)e;
	if (!w)
		abort();
	s->channels->retention = w;
	uv_timer_init(&s->loop, &w->timer);
	w->timer.data = s;
	uv_timer_start(&w->timer, on_timer, LEAST_MS, 0);
	uv_unref((uv_handle_t *)&w->timer);
	return 0;
}

static void retention_closed(uv_handle_t *h)
{
	struct supervisor *s = h->data;

	free(s->channels->retention);
	s->channels->retention = NULL;
}

void retention_close(struct supervisor *s)
{
	if (s->channels && s->channels->retention)
		uv_close((uv_handle_t *)&s->channels->retention->timer,
			 retention_closed);
}

/* --- the command
 * ----------------------------------------------------------- */

static int prune_messages(struct supervisor *s,
			  const struct retention_options *req, const char *by,
			  struct completion done, struct err *e)
{
	struct message_retention *r = &s->channels->retention->by_command;
	struct retention_result *sum = &r->sum;
	char text[128];
	int n;

	control_set_actor(by);
	if (memcmp(&r->options, req, sizeof *req) != 0)
		message_retention_begin(r, req);
	n = run_batch(s, r, e);
	if (n < 0)
		return -1;
	snprintf(text, sizeof text,
		 "%d %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64, n,
		 sum->deliveries, sum->inbound, sum->messages,
		 sum->attachments);
	complete_later(s, done, "messages", n > 0, txn_text(&s->txn, text));
	if (n == 0)
		*r = (struct message_retention){0};
	return 0;
}

int supervisor_prune_messages(struct supervisor *s,
			      const struct retention_options *req,
			      const char *by, struct completion done,
			      struct err *e)
{
	txn_try_begin(&s->txn);
	return txn_try_end(&s->txn, prune_messages(s, req, by, done, e), e);
}
