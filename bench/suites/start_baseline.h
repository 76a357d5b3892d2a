#ifndef BENCH_SUITES_START_BASELINE_H
#define BENCH_SUITES_START_BASELINE_H

#include "bench/bench.h"
#include "lib/db/sql.h"

/*
 * The minimum cost of a start: a fork that opens the agent file and commits,
 * without a request, a row or supervision. Also defines how all starts are
 * timed: until another process sees the event.
 */
int baseline_starts(struct bench_run *r, void *arg, struct bench_sample *out,
		    struct err *e);

int events_seen(struct sql *db, int64_t *out, struct err *e);

/* Waits, with a short sleep between checks, for a new event. */
int events_await(struct sql *db, int64_t before, struct err *e);

#endif
