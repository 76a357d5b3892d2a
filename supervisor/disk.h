#ifndef SUPERVISOR_DISK_H
#define SUPERVISOR_DISK_H

#include "base/home.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * A full disk. SQLite needs some space even to read (the index of the log is a
 * file), so skepd keeps a reserve of 1 MiB, state/reserve, while there is space.
 * A start that fails for want of space gives it up and tries again: skepd then
 * runs, reads work, and changes fail with ERR_FULL until there is space.
 */
struct disk {
	const char *state; /* "ok", "low", "full", "read-only" */
	int64_t free;      /* bytes for us */
};

struct disk disk_look(const struct home *h);

/* Makes the reserve if it is missing and there is ample space. */
void disk_reserve(const struct home *h);

/* Gives it up; false if there is none. */
bool disk_release(const struct home *h);

#endif
