#ifndef WORKER_PROCESS_OOM_H
#define WORKER_PROCESS_OOM_H

#include "worker/driver/driver.h"
#include "worker/run/run.h"

/*
 * The kernel kills a process of a run that exceeds limits.memory, with a signal
 * that does not name the cause. The cgroup of the run counts these; a worker
 * with such a limit reads the count, so that the reason of the end is correct.
 */

/* Call it before commands start, and at the start of a run in a reused
 * worker. */
void oom_begin(struct run *r);

/* Was a process killed since the last call? */
bool oom_occurred(struct run *r);

/* Changes the reason to REASON_memory if a command died from that. */
void oom_classify(struct run *r, struct run_end *end);

#endif
