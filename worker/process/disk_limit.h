#ifndef WORKER_PROCESS_DISK_LIMIT_H
#define WORKER_PROCESS_DISK_LIMIT_H

#include "worker/run/run.h"

/*
 * The disk limit of a run. limits.disk is the amount that it may add, and a
 * worker whose commands can write checks it while it waits.
 *
 * Reading the free space of a file system is cheap, so that is checked first,
 * and more often near the limit. Only if the file system has grown by more than
 * the run may add, or is nearly full, does it measure what the run itself has
 * written: files in its directories that were changed since it began, and open
 * files without a name. In the vfs modes it is the growth of the agent file
 * that the quota of the namespace does not cover: snapshots, and changes over a
 * host directory. A run over its limit is killed at once and ends
 * (REASON_disk).
 */

/* Starts the check. Does nothing without a sandbox, or without such a limit. */
void disk_limit_begin(struct run *r);

/* Limits a wait of ms. */
int64_t disk_limit_wait(const struct run *r, int64_t ms);

/* Checks, if it is time. */
void disk_limit_check(struct run *r);

#endif
