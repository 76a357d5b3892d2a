#ifndef WORKER_PROCESS_ORPHANS_H
#define WORKER_PROCESS_ORPHANS_H

#include "lib/base/buf.h"
#include "worker/run/run.h"

/*
 * Processes that are left when the command that started them has ended. They are
 * ended too; this says which they were.
 */

/* Their names as a list in JSON: how many there are. */
int orphans_list(struct buf *out);

/* An event, if the run's command has ended by itself and left some. A failure
 * is not worth more than the end of the run. */
void orphans_report(struct run *r);

#endif
