#ifndef BENCH_MARKS_H
#define BENCH_MARKS_H

#include "base/err.h"
#include "bench/bench.h"

/* Where the time of runs goes, by the timestamps of base/mark.h. Runs must be
 * one after the other. */
int marks_begin(const char *dir, struct err *e); /* before skepd is started */

/* Adds a table of medians: when a point is passed, and after which step. */
void marks_table(struct bench_run *r, const char *title);

void marks_end(void);

#endif
