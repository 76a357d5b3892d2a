#ifndef BENCH_LOAD_RUN_LOAD_H
#define BENCH_LOAD_RUN_LOAD_H

#include "bench/bench.h"
#include "bench/load/test_daemon.h"
#include "lib/db/sql.h"

/*
 * Many runs of many agents on a separate supervisor, whose control plane is
 * read directly: for the benchmarks start, cancel and density.
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

/* Submits run number i: of agent i % agents, in its own session. */
int run_load_submit(struct run_load *f, int i, const char *script, char id[64],
		    struct err *e);

/* Opens the file of the agent of run number i for reading. */
int run_load_agent_open(struct run_load *f, int i, struct sql **db,
			struct err *e);

/* Reads a number with a query on the control plane. */
int run_load_number(struct run_load *f, int64_t *out, struct err *e,
		    const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* Waits until the query returns at least `want`: 1, or 0 after `seconds` or
 * Ctrl-C; *got is the last result. */
int run_load_until(struct run_load *f, struct bench_run *r, const char *sql,
		   int64_t want, double seconds, int64_t *got, struct err *e);

/* Mean PSS of the active workers in bytes (of some of them); 0: none. */
int64_t run_load_worker_pss(struct run_load *f, struct err *e);

#endif
