#ifndef WORKER_STRAYS_H
#define WORKER_STRAYS_H

#include "base/buf.h"
#include "worker/run.h"

/*
 * Processes that are left when the command that started them has ended. They are
 * ended too; this says which they were.
 */

/* Their names as a list in JSON: how many there are. */
int strays_list(struct buf *out);

/* An event, if the run's command has ended by itself and left some. A failure is not worth
 * more than the end of the run. */
void strays_say(struct run *r);

#endif
