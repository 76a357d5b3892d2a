#ifndef BENCH_SUITES_START_BASELINE_H
#define BENCH_SUITES_START_BASELINE_H

#include "bench/bench.h"
#include "lib/db/sql.h"

/*
 * The least that a start can cost: a fork that opens the agent's file and
 * commits, with nobody who asks for it, writes it down or watches over it. And
 * how all starts are timed: until another process sees the event.
 */
int baseline_starts(struct bench_run *r, void *arg, struct bench_sample *out,
		    struct err *e);

int events_seen(struct sql *db, int64_t *out, struct err *e);

/* Waits, with a short sleep between looks, for an event that was not there. */
int events_await(struct sql *db, int64_t before, struct err *e);

#endif
