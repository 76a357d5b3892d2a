#ifndef VFS_FUSE_COMMIT_TIMER_H
#define VFS_FUSE_COMMIT_TIMER_H

#include <stdint.h>

/*
 * Interrupts a blocking system call of this thread after a time, with EINTR,
 * and then every millisecond until it is set again, so that a signal which
 * arrives just before the call does no harm. It uses SIGALRM. Aborts if the
 * system has no timer left.
 */
struct alarm;

struct alarm *alarm_start(void); /* for the thread that calls */
void alarm_stop(struct alarm *a);
void alarm_set(struct alarm *a, int64_t ns); /* 0: off */

#endif
