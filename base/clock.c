#include "base/clock.h"

#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

static _Atomic int64_t standing_ms = -1;

static int64_t read_ns(clockid_t which)
{
	struct timespec t;

	clock_gettime(which, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t clock_now_ns(void)
{
	int64_t set = atomic_load(&standing_ms);

	return set >= 0 ? set * 1000000 : read_ns(CLOCK_REALTIME);
}

int64_t clock_now(void)
{
	return clock_now_ns() / 1000000;
}

int64_t clock_mono_ns(void)
{
	return read_ns(CLOCK_MONOTONIC);
}

void clock_set(int64_t ms)
{
	atomic_store(&standing_ms, ms);
}

const char *clock_text(int64_t ms, char *out)
{
	int64_t whole = ms / 1000, part = ms % 1000;
	time_t sec;
	struct tm tm;
	size_t n;

	if (part < 0) {
		part += 1000;
		whole--;
	}
	sec = (time_t)whole;
	if (!gmtime_r(&sec, &tm)) {
		snprintf(out, CLOCK_TEXT, "%lldms", (long long)ms);
		return out;
	}
	n = strftime(out, CLOCK_TEXT, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(out + n, CLOCK_TEXT - n, ".%03dZ", (int)part);
	return out;
}
