#ifndef TESTS_SUPPORT_FUZZ_H
#define TESTS_SUPPORT_FUZZ_H

#include <stdbool.h>
#include <stdlib.h>

/* Ends the process, so that libFuzzer keeps the input. */
static inline void require(bool holds)
{
	if (!holds)
		abort();
}

#endif
