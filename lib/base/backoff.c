#include "lib/base/backoff.h"

int64_t backoff_next(int64_t n, int64_t first, int64_t max)
{
	int64_t wait = first;

	while (--n > 0 && wait < max)
		wait *= 2;
	return wait < max ? wait : max;
}

int64_t backoff_spread(int64_t wait, uint32_t random)
{
	return wait / 2 + wait / 2 * (int64_t)(random % 1024) / 1023;
}
