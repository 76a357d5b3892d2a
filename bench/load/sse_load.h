#ifndef BENCH_LOAD_SSE_LOAD_H
#define BENCH_LOAD_SSE_LOAD_H

#include "bench/bench.h"

/*
 * Followers of one active run over HTTP, on a separate supervisor: each reads
 * every event and checks that none is missing, while one connection requests
 * plain pages. For the benchmarks stream and http.
 */
#define SSE_LOAD_EVERY_MS 100 /* so 10 events a second for each follower */

struct sse_load_options {
	int followers;
	int slow; /* number of followers that never read */
};

/* Of bench_sample.more. */
enum { SSE_LOAD_RSS_MB, SSE_LOAD_CPU, SSE_LOAD_REQUEST_P99_US, SSE_LOAD_LOST };

/* The function `measure` of a bench_case; arg is a struct sse_load_options.
 * value is the number of events per second at the readers; wait is the time
 * from the commit to each reader. */
int sse_load_measure(struct bench_run *r, void *arg, struct bench_sample *out,
		     struct err *e);

/* Raises the limit of descriptors of this process for the clients. */
int sse_load_raise_files(int want, struct err *e);

#endif
