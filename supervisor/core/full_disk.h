#ifndef SUPERVISOR_CORE_FULL_DISK_H
#define SUPERVISOR_CORE_FULL_DISK_H

#include "schema/home.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * A full disk. skepd keeps a reserve of 1 MiB, state/reserve, while there is
 * space. A start that fails for want of space gives it up and tries again: skepd
 * then runs, reads work, and changes fail with ERR_FULL until there is space. If
 * that fails too, it starts read-only, which needs no space: it answers reads,
 * refuses every change, starts no run, and restarts when there is space.
 */
struct disk {
	const char *state; /* "ok", "low", "full", "read-only" */
	int64_t free;      /* bytes for us */
};

struct disk disk_status(const struct home *h);

/* Enough to start? Else disk_full_error says why changes are refused. */
bool disk_has_space(const struct home *h);
void disk_full_error(const struct home *h, struct err *e);

/* Makes the reserve if it is missing and there is ample space. */
void disk_reserve(const struct home *h);

/* Gives it up; false if there is none. */
bool disk_release(const struct home *h);

#endif
