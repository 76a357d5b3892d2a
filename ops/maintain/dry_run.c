#include "ops/maintain/dry_run.h"

#include "lib/db/snapshot.h"
#include "ops/maintain/batch.h"

#define MS INT64_C(1000000)

static int perform(const struct agent_database_row *row, dry_run_op *op,
		   void *arg, struct sql_lock_time *held, struct err *e)
{
	struct agent_file f;
	int rc;

	if (registry_open(row, 0, &f, e))
		return -1;
	sql_watch(f.db);
	rc = op(&f, 0, arg, e);
	*held = sql_longest(f.db);
	agent_file_close(&f);
	return rc;
}

/* Returns 1 if it was done and rolled back, 0 if it takes longer. */
static int try_it(const struct agent_database_row *row, int64_t ms,
		  dry_run_op *op, void *arg, struct err *e)
{
	struct agent_file f;
	struct err ignored;
	int rc;

	if (registry_open(row, 0, &f, e))
		return -1;
	rc = sql_enter(f.db, e);
	if (!rc) {
		rc = op(&f, ms ? batch_clock() + ms * MS : 0, arg, e);
		(void)sql_leave(f.db, -1, &ignored); /* always rolled back */
	}
	agent_file_close(&f);
	if (rc && ms && e->code == ERR_TIMEOUT)
		return 0;
	return rc ? -1 : 1;
}

int dry_run_perform(const struct staging_dir *dry,
		    const struct agent_database_row *row, dry_run_op *op,
		    void *arg, struct sql_lock_time *held, struct err *e)
{
	struct agent_database_row copy = *row;
	int rc;

	*held = (struct sql_lock_time){0};
	if (dry->lock < 0)
		return perform(row, op, arg, held, e);
	rc = try_it(row, BATCH_MAX_MS - 2 * BATCH_AIM_MS, op, arg, e);
	if (rc)
		return rc < 0 ? -1 : 0;
	copy.path = staging_dir_path(dry, "copy.sqlite");
	if (db_remove(copy.path, e) || db_clone(row->path, copy.path, e))
		return -1;
	return try_it(&copy, 0, op, arg, e) < 0 ? -1 : 0;
}
