#ifndef BENCH_PEERS_BETTER_SQLITE3_H
#define BENCH_PEERS_BETTER_SQLITE3_H

#include "bench/bench.h"

/* A case (bench_case.measure): the reference program on Node's better-sqlite3,
 * with the same events, read back and compared. arg is not used. */
int better_sqlite3_measure(struct bench_run *r, void *arg,
			   struct bench_sample *out, struct err *e);

#endif
