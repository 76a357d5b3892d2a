#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

/*
 * The time, in one place, so that tests can set it. Rows hold milliseconds of
 * clock_now(); waiting and measuring use clock_mono_ns(), which never jumps.
 */
int64_t clock_now(void);     /* milliseconds since 1970 */
int64_t clock_now_ns(void);  /* nanoseconds since 1970 */
int64_t clock_mono_ns(void); /* nanoseconds since some moment before start */
int64_t clock_cpu_ns(void);  /* CPU time of this thread */

/* Tests: from now on clock_now() and clock_now_ns() stand at `ms` until set
 * again; a negative value gives the real clock back. */
void clock_set(int64_t ms);

/* "2026-11-16T03:16:00.123Z" into out, which holds CLOCK_TEXT bytes. */
#define CLOCK_TEXT 32
const char *clock_text(int64_t ms, char *out);

#endif
