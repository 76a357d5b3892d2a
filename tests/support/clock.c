/* Replaces the function of the C library in the test program. */
#include "tests/support/clock.h"

#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static _Atomic int64_t standing_ms = -1;

void test_clock_set(int64_t ms)
{
	atomic_store(&standing_ms, ms);
}

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
int clock_gettime(clockid_t which, struct timespec *t)
{
	int64_t ms = atomic_load(&standing_ms);

	if (which != CLOCK_REALTIME || ms < 0)
		return (int)syscall(SYS_clock_gettime, which, t);
	t->tv_sec = ms / 1000;
	t->tv_nsec = ms % 1000 * 1000000;
	return 0;
}
