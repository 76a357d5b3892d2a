#ifndef VFS_CORE_NANOS_H
#define VFS_CORE_NANOS_H

#include <stdint.h>
#include <time.h>

/*
 * Times are nanoseconds since 1970 in 64 bits: the years 1678 to 2262. A
 * foreign time may be before 1970 or outside of that range; the latter becomes
 * the nearest time in the range.
 */
#define NANOS INT64_C(1000000000)

static inline int64_t nanos_of(struct timespec t)
{
	int64_t ns;

	if (__builtin_mul_overflow((int64_t)t.tv_sec, NANOS, &ns) ||
	    __builtin_add_overflow(ns, (int64_t)t.tv_nsec, &ns))
		return t.tv_sec < 0 ? INT64_MIN : INT64_MAX;
	return ns;
}

static inline struct timespec nanos_spec(int64_t ns)
{
	struct timespec t = {ns / NANOS, ns % NANOS};

	if (t.tv_nsec < 0) {
		t.tv_nsec += NANOS;
		t.tv_sec--;
	}
	return t;
}

#endif
