#ifndef BENCH_SUITES_MARKS_H
#define BENCH_SUITES_MARKS_H

#include "bench/bench.h"
#include "lib/base/err.h"

/* Where the time of runs goes, by the timestamps of lib/base/mark.h. Runs must be
 * one after the other. */
int marks_begin(const char *dir, struct err *e); /* before skepd is started */

/* Adds a table of medians: when each point is passed, and after which step. */
void marks_table(struct bench_run *r, const char *title);

void marks_end(void);

#endif
