#ifndef BENCH_LOAD_CROWD_H
#define BENCH_LOAD_CROWD_H

#include "bench/bench.h"

/*
 * Followers of one live run over HTTP, on a supervisor of their own: each reads
 * every event and checks that none is missing, while one connection asks for
 * plain pages. For the benchmarks of streams and of requests.
 */
#define CROWD_EVERY_MS 100 /* so 10 events a second for each follower */

struct crowd_load {
	int followers;
	int slow; /* of them, who never read */
};

/* Of bench_sample.more. */
enum { CROWD_RSS_MB, CROWD_CPU, CROWD_REQUEST_P99_US, CROWD_LOST };

/* A bench_case's measure; arg is a struct crowd_load. value is events a second
 * at the readers, wait the time from the commit to each reader. */
int crowd_measure(struct bench_run *r, void *arg, struct bench_sample *out,
		  struct err *e);

/* Lets this process have as many descriptors as the crowd needs. */
int crowd_raise_files(int want, struct err *e);

#endif
