#ifndef BENCH_CONTENTION_CONTENTION_REPORT_H
#define BENCH_CONTENTION_CONTENTION_REPORT_H

#include "bench/contention/contention.h"

/* The measurements of one setting, and the report of all of them. */
#define SECTION_SCALING    "writers"
#define SECTION_BATCH      "events a commit"
#define SECTION_SYNC       "synchronous"
#define SECTION_CHECKPOINT "checkpoint of the WAL"
#define SECTION_BUSY       "how a writer waits for the lock"
#define SECTION_PACED      "many writers, 50 events/s each"
#define PACE_PER_S         50

struct point {
	const char *section;
	char label[48];
	struct setting s;
	struct samples rate;
	struct samples fairness;
	struct samples p99_ms;
	struct histogram wait;
	struct histogram other[OPERATIONS]; /* of a mixed workload */
	double seconds;                     /* of all rounds */
	double events;                      /* of all rounds, … */
	struct usage usage;                 /* … and their duration */
	int64_t busy;
	int64_t starved;
	double wal_peak_mb;
	struct outcome last; /* of the last round: its timeline is shown */
};

#define CURVE_MAX 32

/* One layout over the number of writers. */
struct curve {
	double x[CURVE_MAX];
	double rate[CURVE_MAX];
	double p99[CURVE_MAX];
	double fair[CURVE_MAX];
	const struct samples *rates[CURVE_MAX]; /* of the rounds */
	size_t n;
};

void contention_trace(const struct point *points, size_t n, enum layout l,
		      struct curve *c);
/* One curve per layout. */
void contention_plot(struct bench_run *r, const struct point *points, size_t n,
		     const struct curve *curves);

void contention_report(struct bench_run *r, const struct point *points,
		       size_t n);

#endif
