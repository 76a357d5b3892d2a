#ifndef BENCH_SUITES_TURNAROUND_BASELINE_H
#define BENCH_SUITES_TURNAROUND_BASELINE_H

#include "bench/bench.h"

/* The unavoidable cost of a run of /bin/true on this machine, measured
 * separately: the waits for the disk, each an fdatasync of two pages of a log
 * in `dir`, and a process that executes /bin/true without a sandbox. Adds a
 * table. */
int turnaround_baseline(struct bench_run *r, const char *dir, struct err *e);

#endif
