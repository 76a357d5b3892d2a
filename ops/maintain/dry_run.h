#ifndef OPS_MAINTAIN_DRY_RUN_H
#define OPS_MAINTAIN_DRY_RUN_H

#include "ops/staging_dir.h"
#include "schema/control/registry.h"

/*
 * An operation on an agent's file, or a dry run of it: the operation in a
 * transaction that is rolled back. If it fits into one batch
 * (ops/maintain/batch.h), it is done in the file; otherwise on a copy with the
 * same pages, where no writer waits for it.
 */

/* ERR_TIMEOUT after `until` (batch_clock; 0: never). */
typedef int dry_run_op(struct agent_file *f, int64_t until, void *arg,
		       struct err *e);

/* `dry` is a directory for copies; if it is not open, the operation is real.
 * `held` returns how long the operation kept other writers out. */
int dry_run_perform(const struct staging_dir *dry,
		    const struct agent_database_row *row, dry_run_op *op,
		    void *arg, struct sql_lock_time *held, struct err *e);

#endif
