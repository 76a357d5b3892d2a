/* One writer: a process that commits, reads and changes according to its
 * workload. */
#include "bench/contention/contention.h"
#include "bench/load/events.h"
#include "lib/base/clock.h"
#include "lib/json/json_write.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define TAIL_EVENTS 50

struct hand {
	const struct setting *s;
	const struct store_kind *kind;
	struct writer_stats *me;
	struct event_source *sources; /* one per session, and … */
	void **stores;                /* … its store */
	int64_t turn;                 /* appends so far */
	struct op_mix mix;
};

static _Noreturn void fail_writer(struct writer_stats *me, const struct err *e)
{
	me->failed = *e;
	_exit(1);
}

static int patch_turn(struct hand *h, size_t k, struct err *e)
{
	struct buf json = BUF_MAX(64);
	int rc;

	json_begin_object(&json);
	json_put_int(&json, "turn", h->turn);
	json_end_object(&json);
	rc = h->kind->patch(h->stores[k], json.p, e);
	buf_fini(&json);
	return rc;
}

/* The time of one operation, including retries. */
static int try(struct hand *h, enum operation o, size_t k,
	       const struct store_event *ev, struct err *e)
{
	switch (o) {
	case OPERATION_tail:
		return h->kind->tail(h->stores[k], TAIL_EVENTS, e);
	case OPERATION_patch:
		return patch_turn(h, k, e);
	case OPERATION_append:
	case OPERATIONS:
		break;
	}
	return h->kind->append(h->stores[k], ev, (size_t)h->s->work.batch, e);
}

static int do_one(struct hand *h, enum operation o, struct err *e)
{
	size_t k = (size_t)(h->turn % h->s->work.sessions);
	size_t n = (size_t)h->s->work.batch;
	const struct store_event *ev = o == OPERATION_append
					       ? events_next(&h->sources[k], n)
					       : NULL;
	int64_t before = clock_mono_ns();

	while (try(h, o, k, ev, e)) {
		if (e->code != ERR_BUSY)
			return -1;
		h->me->busy++;
		if (h->s->retry)
			usleep(200);
	}
	histogram_add(ev ? &h->me->wait : &h->me->other[o],
		      clock_mono_ns() - before);
	if (ev) {
		h->me->events += (int64_t)n;
		h->turn++;
	}
	return 0;
}

static void open_all(struct hand *h, const char *dir, int i)
{
	size_t n = (size_t)h->s->work.sessions;
	struct err e = {0};

	h->sources = calloc(n, sizeof *h->sources);
	h->stores = calloc(n, sizeof *h->stores);
	if (!h->sources || !h->stores)
		abort();
	for (size_t k = 0; k < n; k++) {
		h->sources[k].bytes = h->s->work.bytes;
		if (contention_open(h->s, dir, i, (int64_t)k, &h->stores[k],
				    &e))
			fail_writer(h->me, &e);
	}
}

void contention_write(const struct setting *s, struct shared_stats *b,
		      const char *dir, int i)
{
	struct hand h = {.s = s,
			 .kind = contention_kind(s->layout),
			 .me = &b->writers[i]};
	struct err e = {0};

	open_all(&h, dir, i);
	atomic_fetch_add(&b->ready, 1);
	while (!atomic_load(&b->go))
		usleep(500);
	while (!atomic_load(&b->stop)) {
		enum operation o = workload_deal(&s->work, &h.mix);

		if (do_one(&h, o, &e))
			fail_writer(h.me, &e);
		if (o == OPERATION_append)
			atomic_fetch_add(&b->events, s->work.batch);
		if (s->work.think_us)
			usleep((useconds_t)s->work.think_us);
	}
	for (int64_t k = 0; k < s->work.sessions; k++)
		h.kind->close(h.stores[k]);
	_exit(0);
}
