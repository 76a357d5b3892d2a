#ifndef SUPERVISOR_CORE_MEMORY_TRIM_H
#define SUPERVISOR_CORE_MEMORY_TRIM_H

#include <stdint.h>

/* Limits the memory that an idle skepd keeps. */

/* Before anything else, and before there are threads. */
void memory_configure(void);

/* Returns free memory of the heap to the kernel. */
void memory_trim(void);

/* The database's cache: small, unless many deliveries are moved, when a commit
 * ought to find its pages there. Called when it is opened and with every tick;
 * moved: deliveries, since the start. */
struct memory_cache {
	int64_t moved; /* up to the last call */
	int kib;
	int quiet; /* calls since many were */
};
struct sql;
void memory_cache(struct memory_cache *c, struct sql *db, int64_t moved);

#endif
