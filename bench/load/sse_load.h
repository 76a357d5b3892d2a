#ifndef BENCH_LOAD_SSE_LOAD_H
#define BENCH_LOAD_SSE_LOAD_H

#include "bench/bench.h"

/*
 * Followers of one active run over HTTP, on a supervisor of their own: each reads
 * every event and checks that none is missing, while one connection asks for
 * plain pages. For the benchmarks of streams and of requests.
 */
#define SSE_LOAD_EVERY_MS 100 /* so 10 events a second for each follower */

struct sse_load_options {
	int followers;
	int slow; /* of them, who never read */
};

/* Of bench_sample.more. */
enum { SSE_LOAD_RSS_MB, SSE_LOAD_CPU, SSE_LOAD_REQUEST_P99_US, SSE_LOAD_LOST };

/* A bench_case's measure; arg is a struct sse_load_options. value is events a second
 * at the readers, wait the time from the commit to each reader. */
int sse_load_measure(struct bench_run *r, void *arg, struct bench_sample *out,
		     struct err *e);

/* Lets this process have as many descriptors as the clients need. */
int sse_load_raise_files(int want, struct err *e);

#endif
