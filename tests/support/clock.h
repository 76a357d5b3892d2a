#ifndef TESTS_SUPPORT_CLOCK_H
#define TESTS_SUPPORT_CLOCK_H

#include <stdint.h>

/* CLOCK_REALTIME, and so clock_now(), is `ms` until it is set again; a negative
 * value restores the real clock. */
void test_clock_set(int64_t ms);

#endif
