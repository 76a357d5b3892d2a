#include "lib/base/clock.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

static _Atomic bool is_fixed;
static _Atomic int64_t fixed_offset; /* ms */

static int64_t read_ns(clockid_t which)
{
	struct timespec t;

	clock_gettime(which, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t clock_now_ns(void)
{
	if (atomic_load(&is_fixed))
		return read_ns(CLOCK_BOOTTIME) +
		       atomic_load(&fixed_offset) * 1000000;
	return read_ns(CLOCK_REALTIME);
}

int64_t clock_offset(void)
{
	return (read_ns(CLOCK_REALTIME) - read_ns(CLOCK_BOOTTIME)) / 1000000;
}

int64_t clock_fixed_offset(void)
{
	return atomic_load(&is_fixed) ? atomic_load(&fixed_offset)
				      : clock_offset();
}

void clock_fix_offset(int64_t offset)
{
	atomic_store(&fixed_offset, offset);
	atomic_store(&is_fixed, true);
}

int64_t clock_now(void)
{
	return clock_now_ns() / 1000000;
}

int64_t clock_cpu_ns(void)
{
	return read_ns(CLOCK_THREAD_CPUTIME_ID);
}

int64_t clock_mono_ns(void)
{
	return read_ns(CLOCK_MONOTONIC);
}

/* Written by hand: every log line and message has one, and strftime with
 * snprintf is ten times slower. */
static char *put_number(char *at, int value, int digits, char after)
{
	for (int i = digits; i-- > 0; value /= 10)
		at[i] = (char)('0' + value % 10);
	at[digits] = after;
	return at + digits + 1;
}

const char *clock_text(int64_t ms, char *out)
{
	int64_t whole = ms / 1000, part = ms % 1000;
	char *at = out;
	time_t sec;
	struct tm tm;

	if (part < 0) {
		part += 1000;
		whole--;
	}
	sec = (time_t)whole;
	if (!gmtime_r(&sec, &tm) || tm.tm_year < -1900 || tm.tm_year > 8099) {
		snprintf(out, CLOCK_TEXT, "%lldms", (long long)ms);
		return out;
	}
	at = put_number(at, tm.tm_year + 1900, 4, '-');
	at = put_number(at, tm.tm_mon + 1, 2, '-');
	at = put_number(at, tm.tm_mday, 2, 'T');
	at = put_number(at, tm.tm_hour, 2, ':');
	at = put_number(at, tm.tm_min, 2, ':');
	at = put_number(at, tm.tm_sec, 2, '.');
	at = put_number(at, (int)part, 3, 'Z');
	*at = '\0';
	return out;
}
