#ifndef SUPERVISOR_CORE_USAGE_H
#define SUPERVISOR_CORE_USAGE_H

#include "lib/base/id.h"
#include "supervisor/core/commands.h"

/* What runs use now. A thread reads /proc. ids are copied; `done` is called on
 * the loop with a row for each run that is active. */
struct run_usage {
	char id[ID_SIZE];
	int64_t rss, cpu_ms, processes;
};

typedef void run_usage_fn(void *arg, const struct run_usage *rows, int n);

void supervisor_measure_runs(struct supervisor *s, char *const *ids, int n,
			     run_usage_fn *done, void *arg);

#endif
