#ifndef SUPERVISOR_CORE_RESTART_H
#define SUPERVISOR_CORE_RESTART_H

#include <stdint.h>

/*
 * When something that failed may be started again: at once after a long good
 * life, else later with each failure, up to a minute, and never in step with
 * others. Pure: times are the caller's, in milliseconds.
 */
#define RESTART_FIRST_MS 500
#define RESTART_MAX_MS   60000

struct restart {
	int64_t running_since; /* 0: it is not */
	int failures;          /* one after the other */
};

void restart_running(struct restart *r, int64_t now);
/* Failures before a good life of more than stable_ms are forgotten. */
void restart_failed(struct restart *r, int64_t now, int64_t stable_ms);
int64_t restart_wait(const struct restart *r, uint32_t random); /* ms */

#endif
