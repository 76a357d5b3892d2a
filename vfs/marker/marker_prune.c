#include "vfs/marker/marker_prune.h"

#include "lib/base/clock.h"
#include "schema/agent_queries.h"
#include "vfs/core/vfs.h"
#include "vfs/snapshot/snapshot.h"

#define ROWS      500 /* of one transaction */
#define NS_PER_MS 1000000

/* Deletes a snapshot, and hidden ones that were not finished. */
static int drop_one(struct sql *db, const char *ns, const char *snap,
		    struct err *e)
{
	struct vfs_drop at = {0};
	struct vfs *v;
	int rc;

	if (vfs_open(&v, db, ns, "prune", e))
		return -1;
	rc = vfs_snapshot_hide(v, snap, e);
	while (rc == 0 && (rc = vfs_snapshot_drop_some(v, &at, ROWS, e)) > 0)
		rc = 0;
	vfs_close(v);
	return rc < 0 ? -1 : 0;
}

int marker_prune(struct sql *db, int64_t keep, int64_t age, struct err *e)
{
	struct marker_old_in in = {
		.keep = keep,
		.before = age ? clock_now_ns() - age * NS_PER_MS : 0};
	struct marker_old_row row;
	struct arena mem = {0};
	int n = 0, found;

	while ((found = sql_get(db, Q_MARKER_OLD, &in, &row, &mem, e)) > 0) {
		if (drop_one(db, row.ns, row.snap, e)) {
			found = -1;
			break;
		}
		n++;
		arena_reset(&mem);
	}
	arena_fini(&mem);
	return found < 0 ? -1 : n;
}
