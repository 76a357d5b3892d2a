#ifndef SUPERVISOR_FOOTPRINT_H
#define SUPERVISOR_FOOTPRINT_H

/*
 * How little memory skepd stands with. Of the process as a whole; cannot fail
 * in a way that matters.
 */

/* Before anything else, and before there are threads. */
void footprint_limit(void);

/* Gives back what was needed once and not since: free memory of the heap, and
 * pages of programs and libraries that nobody has written to. The latter come
 * back from the page cache when they are used, some hundred of them. */
void footprint_shrink(void);

#endif
