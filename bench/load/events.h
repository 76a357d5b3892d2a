#ifndef BENCH_LOAD_EVENTS_H
#define BENCH_LOAD_EVENTS_H

#include "bench/suites/store.h"

/*
 * The events for stores: JSON of about 500 bytes, each different, generated
 * from its number, so that events that are read back can be compared without
 * storing them.
 */
#define EVENTS_BATCH_MAX 256
#define EVENTS_BYTES_MAX 4000
#define EVENTS_BYTES     500

#define EVENT_SIZES_MAX 16

struct event_sizes { /* in turn; none: EVENTS_BYTES */
	int64_t of[EVENT_SIZES_MAX];
	int n;
};

struct event_source {
	int keyed; /* every n-th has a key; 0: none */
	struct event_sizes bytes;
	int64_t number; /* of the last event */
	struct store_event batch[EVENTS_BATCH_MAX];
	char text[EVENTS_BATCH_MAX][EVENTS_BYTES_MAX + 256];
	char keys[EVENTS_BATCH_MAX][48];
};

/* The next n; borrowed until the next call. */
const struct store_event *events_next(struct event_source *s, size_t n);

/* -1 with ERR_CORRUPT unless the store has exactly the first n events. `bytes`
 * as in the source; NULL: none. */
int events_verify(const struct store_kind *kind, void *store, int64_t n,
		  const struct event_sizes *bytes, struct err *e);

#endif
