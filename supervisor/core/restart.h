#ifndef SUPERVISOR_CORE_RESTART_H
#define SUPERVISOR_CORE_RESTART_H

#include <stdint.h>

/*
 * Restart back-off: the delay grows with each failure up to a minute, with
 * jitter. Failures before a long period without one are ignored. Pure
 * functions; the caller gives the time in milliseconds.
 */
#define RESTART_FIRST_MS 500
#define RESTART_MAX_MS   60000

struct restart {
	int64_t running_since; /* 0: it is not running */
	int failures;          /* in a row */
};

void restart_running(struct restart *r, int64_t now);
/* If it ran for more than stable_ms, earlier failures are ignored. */
void restart_failed(struct restart *r, int64_t now, int64_t stable_ms);
int64_t restart_wait(const struct restart *r, uint32_t random); /* ms */

#endif
