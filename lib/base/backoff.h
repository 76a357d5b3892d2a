#ifndef LIB_BASE_BACKOFF_H
#define LIB_BASE_BACKOFF_H

#include <stdint.h>

/* How long to wait after n failures in a row: `first`, twice as long after each
 * further one, at most `max`. */
int64_t backoff_next(int64_t n, int64_t first, int64_t max);

/* Between half of a wait and all of it by chance, so that clients that failed
 * together do not return together. */
int64_t backoff_spread(int64_t wait, uint32_t random);

#endif
