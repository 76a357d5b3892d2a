#include "supervisor/core/restart.h"

#include "lib/base/backoff.h"

#define COUNT_MAX 30 /* more than enough for the longest wait */

void restart_running(struct restart *r, int64_t now)
{
	r->running_since = now;
}

void restart_failed(struct restart *r, int64_t now, int64_t stable_ms)
{
	if (r->running_since && now - r->running_since > stable_ms)
		r->failures = 0;
	if (r->failures < COUNT_MAX)
		r->failures++;
	r->running_since = 0;
}

int64_t restart_wait(const struct restart *r, uint32_t random)
{
	return r->failures ? backoff_spread(backoff_next(r->failures,
							 RESTART_FIRST_MS,
							 RESTART_MAX_MS),
					    random)
			   : 0;
}
