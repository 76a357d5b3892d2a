#ifndef VFS_FUSE_WAIT_TIMER_H
#define VFS_FUSE_WAIT_TIMER_H

#include <stdint.h>

/*
 * Interrupts a blocking system call of this thread after a time, with EINTR,
 * and then every millisecond until it is set again, so that a signal which
 * arrives just before the call does no harm. It uses SIGALRM. Aborts if the
 * system has no timer left.
 */
struct wait_timer;

struct wait_timer *wait_timer_start(void); /* for the thread that calls */
void wait_timer_stop(struct wait_timer *a);
void wait_timer_set(struct wait_timer *a, int64_t ns); /* 0: off */

#endif
