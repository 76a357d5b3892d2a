#ifndef WORKER_PROCESS_DISK_LIMIT_H
#define WORKER_PROCESS_DISK_LIMIT_H

#include "worker/run/run.h"

/*
 * No run fills the disk: how much it may add is in limits.disk, and a worker
 * whose commands can write looks at it while it waits.
 *
 * Asking a file system what is free costs nothing, so that is asked first, and
 * sooner the nearer its limit comes. Only when it has filled by more than the
 * run may add, or is nearly full, is it found out what the run itself has done:
 * what lies in its places and was changed since it began, and files that it has
 * open and nobody can see. In the vfs modes it is the growth of the agent's
 * file, beyond the quota of the namespace: snapshots, and what is over a host
 * directory. A run that is over its limit is killed at once and ends (REASON_disk).
 */

/* From now on. Nothing without a sandbox, or without such a limit. */
void disk_limit_begin(struct run *r);

/* How long a wait of ms may be. */
int64_t disk_limit_wait(const struct run *r, int64_t ms);

/* Looks, if it is time. */
void disk_limit_check(struct run *r);

#endif
