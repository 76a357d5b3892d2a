#ifndef VFS_FUSE_COMMIT_TIMER_H
#define VFS_FUSE_COMMIT_TIMER_H

#include <stdint.h>

/*
 * Ends a system call of this thread that waits, after a time, with EINTR; then
 * every millisecond again until it is set anew, so that one which comes just
 * before the call does no harm. It takes SIGALRM for itself. Aborts where the
 * system has no timer left.
 */
struct alarm;

struct alarm *alarm_start(void); /* for the thread that calls */
void alarm_stop(struct alarm *a);
void alarm_set(struct alarm *a, int64_t ns); /* 0: not at all */

#endif
