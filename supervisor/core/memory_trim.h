#ifndef SUPERVISOR_CORE_MEMORY_TRIM_H
#define SUPERVISOR_CORE_MEMORY_TRIM_H

#include <stdint.h>

/* Limits the memory that an idle skepd keeps. */

/* Call it first, before any thread exists. */
void memory_configure(void);

/* Returns free memory of the heap to the kernel. */
void memory_trim(void);

/* Sets the size of the page cache: small, but larger while many deliveries are
 * processed, so that a commit finds its pages. Call it after the database was
 * opened and with every tick. moved: number of deliveries processed since the
 * start. */
struct memory_cache {
	int64_t moved; /* at the last call */
	int kib;
	int quiet; /* calls since the last busy one */
};
struct sql;
void memory_cache(struct memory_cache *c, struct sql *db, int64_t moved);

#endif
