#ifndef SCHEMA_CONTROL_RUN_PRUNE_H
#define SCHEMA_CONTROL_RUN_PRUNE_H

#include "lib/base/err.h"

#include <stdint.h>

/* Deletes old runs in short steps: a run may have any number of children,
 * commands or approvals. */
struct sql;
struct run_prune;

/*
 * One step, in the transaction of the caller: deletes at most p->count runs, or
 * first a few rows that belong to them; p->rows is ignored. Adds the number of
 * runs to `*deleted`. Returns 1 if there may be more to do, 0, or -1.
 */
int run_prune_step(struct sql *db, const struct run_prune *p, int64_t *deleted,
		   struct err *e);

#endif
