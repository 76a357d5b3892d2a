#ifndef WORKER_PROCESS_OOM_H
#define WORKER_PROCESS_OOM_H

#include "worker/driver/driver.h"
#include "worker/run/run.h"

/*
 * A run that takes more than limits.memory loses a process to the kernel, by a
 * signal that says nothing. The run's cgroup counts these; a worker with such a
 * limit reads the count, so that the end says what it was.
 */

/* Before commands start, and at the begin of a run that takes over others. */
void oom_begin(struct run *r);

/* Was a process ended since this was asked last? */
bool oom_occurred(struct run *r);

/* An end by a dead command becomes REASON_memory, if it was that. */
void oom_classify(struct run *r, struct run_end *end);

#endif
