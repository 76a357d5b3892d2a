#ifndef OPS_MAINTAIN_DRY_RUN_H
#define OPS_MAINTAIN_DRY_RUN_H

#include "ops/workdir.h"
#include "schema/control/registry.h"

/*
 * A deed on an agent's file, or a dry run: the deed itself in a transaction
 * that is rolled back. That is done in the file, as long as a slice may last
 * (ops/maintain/slice.h); what takes longer is done the same way to a copy with
 * the same pages, where it keeps nobody waiting.
 */

/* ERR_TIMEOUT when `until` (slice_clock; 0: never) is over. */
typedef int dry_deed(struct agent_file *f, int64_t until, void *arg,
		     struct err *e);

/* `dry` is a place for copies; if it is not open, this is the deed. `held` says
 * how long the deed kept others out. */
int dry_do(const struct workdir *dry, const struct agent_database_row *row,
	   dry_deed *deed, void *arg, struct sql_hold *held, struct err *e);

#endif
