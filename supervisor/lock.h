#ifndef SUPERVISOR_LOCK_H
#define SUPERVISOR_LOCK_H

#include "base/err.h"
#include "db/sql.h"

#include <stdint.h>

/*
 * Exactly one skepd per home: a row with pid, start time and boot. It is taken
 * over only when the process named there is proven dead.
 */

/* ERR_CONFLICT, naming the owner, if there is one. epoch counts owners. */
int lock_take(struct sql *db, int64_t *epoch, struct err *e);
void lock_release(struct sql *db); /* no-op if it is not ours */

#endif
