#ifndef SUPERVISOR_CORE_MEMORY_TRIM_H
#define SUPERVISOR_CORE_MEMORY_TRIM_H

#include <stdint.h>

/*
 * How little memory skepd stands with. Of the process as a whole; cannot fail
 * in a way that matters.
 */

/* Before anything else, and before there are threads. */
void memory_configure(void);

/* Gives back what was needed once and not since: free memory of the heap, and
 * pages of programs and libraries that nobody has written to. The latter come
 * back from the page cache when they are used, some hundred of them. */
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
