#ifndef WORKER_PROCESS_ORPHANS_H
#define WORKER_PROCESS_ORPHANS_H

#include "lib/base/buf.h"
#include "worker/run/run.h"

/*
 * Processes that are left when the command that started them has ended. They
 * are ended too; this records their names.
 */

/* Their names as a JSON list; returns their number. */
int orphans_list(struct buf *out);

/* Adds an event if the run's command has ended on its own and left some. A
 * failure is ignored. */
void orphans_report(struct run *r);

#endif
