#ifndef SUPERVISOR_CORE_FULL_DISK_H
#define SUPERVISOR_CORE_FULL_DISK_H

#include "schema/home.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Operation on a full disk. skepd keeps a reserve file of 1 MiB, state/reserve.
 * If a start fails for lack of space, skepd deletes the reserve and tries
 * again: reads then work, and changes fail with ERR_FULL until there is space.
 * If that start fails too, skepd starts read-only: it answers reads, refuses
 * every change, starts no run, and restarts when there is space.
 */
struct disk {
	const char *state; /* "ok", "low", "full", "read-only" */
	int64_t free;      /* bytes available to skepd */
};

struct disk disk_status(const struct home *h);

/* Is there enough space to start? If not, disk_full_error gives the error for
 * refused changes. */
bool disk_has_space(const struct home *h);
void disk_full_error(const struct home *h, struct err *e);

/* Creates the reserve if it is missing and there is enough space. */
void disk_reserve(const struct home *h);

/* Deletes the reserve; false if there is none. */
bool disk_release(const struct home *h);

#endif
