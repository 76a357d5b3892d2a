#ifndef BENCH_LOAD_FLEET_H
#define BENCH_LOAD_FLEET_H

#include "bench/bench.h"
#include "bench/load/host.h"
#include "lib/db/sql.h"

/*
 * Many runs of many agents on a supervisor of their own, and its books read
 * beside it: for the benchmarks of starting, cancelling and density.
 */
struct fleet {
	struct host host;
	struct sql *control; /* read-only */
	int agents;
};

/* A home in dir that allows `max` runs at once, with script agents a0, a1, … */
int fleet_start(struct fleet *f, const char *dir, int agents, int max,
		struct err *e);
void fleet_stop(struct fleet *f);

/* Run number i: of agent i % agents, in a session of its own. */
int fleet_submit(struct fleet *f, int i, const char *script, char id[64],
		 struct err *e);

/* The file of the agent that run number i belongs to, to be read. */
int fleet_agent_open(struct fleet *f, int i, struct sql **db, struct err *e);

/* The number that a query on the control plane yields. */
int fleet_number(struct fleet *f, int64_t *out, struct err *e, const char *fmt,
		 ...) __attribute__((format(printf, 4, 5)));

/* Waits until the query yields at least `want`: 1, or 0 if it took `seconds` or
 * Ctrl-C came; *got is what it yields then. */
int fleet_until(struct fleet *f, struct bench_run *r, const char *sql,
		int64_t want, double seconds, int64_t *got, struct err *e);

/* Mean PSS of the live workers in bytes (of some of them); 0: none. */
int64_t fleet_worker_pss(struct fleet *f, struct err *e);

#endif
