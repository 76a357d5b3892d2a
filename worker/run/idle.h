#ifndef WORKER_RUN_IDLE_H
#define WORKER_RUN_IDLE_H

#include "worker/driver/driver.h"

/*
 * Between two runs. An agent that takes long to start is kept for the session's
 * next prompt: its run is over, and its worker waits for the message `next`,
 * with the processes that the driver exempts (lib/os/process_tree.h) and the
 * workspace. All other processes of the run were ended with it. The supervisor
 * ends the wait. The worker also exits when the agent does, when it has no
 * supervisor, or shortly after the agreed time.
 */

/* After a run that kept processes: true if r is the next run. */
bool idle_wait(struct run *r);

/* Ends the kept processes, and closes the workspace. */
int idle_end(struct run *r, int64_t grace_ms, struct err *e);

#endif
