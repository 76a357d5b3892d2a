#include "supervisor/channel/delivery_stuck.h"

#include "lib/base/backoff.h"
#include "lib/base/log.h"
#include "schema/control/channel/delivery.h"

#include <stdlib.h>
#include <string.h>

#define STUCK_MAX     1000
#define FIRST_WAIT_MS 1000
#define MAX_WAIT_MS   (5 * 60 * 1000)

struct stuck_delivery {
	int64_t seq;
	int64_t failures; /* in a row */
	int64_t again_ms; /* uv_now of the next try */
};

static struct stuck_delivery *find_stuck(const struct stuck_deliveries *k,
					 int64_t seq)
{
	for (int i = 0; i < k->n; i++)
		if (k->rows[i].seq == seq)
			return &k->rows[i];
	return NULL;
}

bool stuck_waits(const struct stuck_deliveries *k, int64_t seq, int64_t now_ms)
{
	const struct stuck_delivery *d = find_stuck(k, seq);

	return d && d->again_ms > now_ms;
}

/* A full list forgets its oldest entry. */
static struct stuck_delivery *add_entry(struct stuck_deliveries *k, int64_t seq)
{
	if (k->n == STUCK_MAX)
		stuck_remove(k, k->rows[0].seq);
	k->rows = realloc(k->rows, ((size_t)k->n + 1) * sizeof *k->rows);
	if (!k->rows)
		abort();
	k->rows[k->n] = (struct stuck_delivery){.seq = seq};
	return &k->rows[k->n++];
}

void stuck_add(struct stuck_deliveries *k, const struct delivery_row *row,
	       int64_t now_ms, const struct err *why)
{
	struct stuck_delivery *d = find_stuck(k, row->seq);
	int64_t wait;

	if (!d)
		d = add_entry(k, row->seq);
	wait = backoff_next(++d->failures, FIRST_WAIT_MS, MAX_WAIT_MS);
	d->again_ms = now_ms + wait;
	log_error(LT("msg", "a delivery cannot be changed"),
		  LT("delivery", row->id), LT("channel", row->channel),
		  LI("retry_ms", wait), LT("error", why->text));
}

void stuck_remove(struct stuck_deliveries *k, int64_t seq)
{
	struct stuck_delivery *d = find_stuck(k, seq);

	if (!d)
		return;
	k->n--;
	memmove(d, d + 1, (size_t)(&k->rows[k->n] - d) * sizeof *d);
}

void stuck_fini(struct stuck_deliveries *k)
{
	free(k->rows);
	*k = (struct stuck_deliveries){0};
}
