#ifndef BENCH_LOAD_RUN_LOAD_H
#define BENCH_LOAD_RUN_LOAD_H

#include "bench/bench.h"
#include "bench/load/test_daemon.h"
#include "lib/db/sql.h"

/*
 * Many runs of many agents on a supervisor of their own, and its books read
 * beside it: for the benchmarks of starting, cancelling and density.
 */
struct run_load {
	struct test_daemon daemon;
	struct sql *control; /* read-only */
	int agents;
};

/* A home in dir that allows `max` runs at once, with script agents a0, a1, … */
int run_load_start(struct run_load *f, const char *dir, int agents, int max,
		   struct err *e);
void run_load_stop(struct run_load *f);

/* Run number i: of agent i % agents, in a session of its own. */
int run_load_submit(struct run_load *f, int i, const char *script, char id[64],
		    struct err *e);

/* The file of the agent that run number i belongs to, to be read. */
int run_load_agent_open(struct run_load *f, int i, struct sql **db,
			struct err *e);

/* The number that a query on the control plane yields. */
int run_load_number(struct run_load *f, int64_t *out, struct err *e,
		    const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* Waits until the query yields at least `want`: 1, or 0 if it took `seconds` or
 * Ctrl-C came; *got is what it yields then. */
int run_load_until(struct run_load *f, struct bench_run *r, const char *sql,
		   int64_t want, double seconds, int64_t *got, struct err *e);

/* Mean PSS of the live workers in bytes (of some of them); 0: none. */
int64_t run_load_worker_pss(struct run_load *f, struct err *e);

#endif
