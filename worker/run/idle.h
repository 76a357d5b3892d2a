#ifndef WORKER_RUN_IDLE_H
#define WORKER_RUN_IDLE_H

#include "worker/driver/driver.h"

/*
 * Between two runs. An agent that took long to start is worth keeping for the
 * session's next prompt: its run is over, and its worker waits for the message
 * `next`, with the processes that the driver spares (lib/os/process_tree.h) and the
 * workspace. Nothing else of the run is left: strays were ended with it. The
 * supervisor says when the time is up; the worker goes by itself when the agent
 * does, when there is nobody to speak with, or a moment later than promised.
 */

/* After a run that kept something: true, and r is the next run. */
bool idle_wait(struct run *r);

/* Ends what was kept, and gives the workspace back. */
int idle_end(struct run *r, int64_t grace_ms, struct err *e);

#endif
