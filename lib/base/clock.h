#ifndef LIB_BASE_CLOCK_H
#define LIB_BASE_CLOCK_H

#include <stdint.h>

/*
 * The time, in one place, so that tests can set it. Rows hold milliseconds of
 * clock_now(); waiting and measuring use clock_mono_ns(), which never jumps.
 *
 * clock_fix_offset makes clock_now() of this process independent of the system's
 * clock: it counts from boot plus an offset. A process whose rows contain
 * deadlines follows a change of the system's clock after it has moved the
 * deadlines (supervisor/core/clock_change.c).
 */
int64_t clock_now(void);     /* milliseconds since 1970 */
int64_t clock_now_ns(void);  /* nanoseconds since 1970 */
int64_t clock_mono_ns(void); /* nanoseconds since some moment before start */
int64_t clock_cpu_ns(void);  /* CPU time of this thread */

int64_t clock_offset(void); /* of the system's clock: ms from boot to 1970 */
int64_t clock_fixed_offset(void); /* the offset that clock_now() uses */
void clock_fix_offset(int64_t offset);

/* "2026-11-16T03:16:00.123Z" into out, which holds CLOCK_TEXT bytes. */
#define CLOCK_TEXT 32
const char *clock_text(int64_t ms, char *out);

#endif
