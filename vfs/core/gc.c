/* Deletes what processes and runs have left: see vfs/core/vfs.h. */
#include "vfs/core/core.h"

#include "lib/os/process.h"

#include <stdio.h>
#include <string.h>

/* 1: deleted. Another process may be as fast. */
static int destroy_once(struct sql *db, const char *name, struct err *e)
{
	if (ns_destroy(db, name, e) == 0)
		return 1;
	return e->code == ERR_NOTFOUND ? 0 : -1;
}

static int destroy_dropped(struct sql *db, struct err *e)
{
	struct vfs_ns_dropped_row row;
	struct arena mem = {0};
	int n = 0, found;

	while ((found = sql_get(db, Q_VFS_NS_DROPPED, NULL, &row, &mem, e)) >
	       0) {
		if (destroy_once(db, row.name, e) < 0) {
			found = -1;
			break;
		}
		n++;
		arena_reset(&mem);
	}
	arena_fini(&mem);
	return found < 0 ? -1 : n;
}

/* Whether the process that fills the namespace is alive. */
static bool is_being_filled(const char *name)
{
	long long pid = 0, start = 0;
	struct process_identity m;

	if (sscanf(name + strlen(VFS_COPY), "%lld-%lld", &pid, &start) != 2 ||
	    !process_identity(pid, &m))
		return false;
	return m.start_ticks == start && process_is_alive(&m);
}

static int destroy_copies(struct sql *db, struct err *e)
{
	struct vfs_ns_copies_row *rows;
	struct arena mem = {0};
	int n = sql_collect(db, Q_VFS_NS_COPIES, NULL, INT32_MAX, &rows, &mem,
			    e);
	int gone = n < 0 ? -1 : 0;

	for (int i = 0; gone >= 0 && i < n; i++) {
		int rc = is_being_filled(rows[i].name)
				 ? 0
				 : destroy_once(db, rows[i].name, e);

		gone = rc < 0 ? -1 : gone + rc;
	}
	arena_fini(&mem);
	return gone;
}

/* Contents that were copied from other files, and that nothing uses now: 1 if
 * there may be more. */
static int drop_copied(struct sql *db, struct err *e)
{
	struct vfs v = {.db = db}; /* only its connection is used */
	struct vfs_copied_unused_row *rows;
	struct arena mem = {0};
	int n = sql_collect(db, Q_VFS_COPIED_UNUSED, NULL, 500, &rows, &mem, e);
	int rc = n < 0 ? -1 : n == 500;

	for (int i = 0; rc >= 0 && i < n; i++)
		if (sql_exec(db, Q_VFS_COPIED_DROP,
			     &(struct vfs_copied_drop_in){rows[i].digest},
			     e) < 0 ||
		    blob_unref(&v, rows[i].blob, e))
			rc = -1;
	arena_fini(&mem);
	return rc;
}

int vfs_gc_contents(struct sql *db, struct err *e)
{
	int more;

	do {
		if (sql_enter(db, e))
			return -1;
		more = drop_copied(db, e);
		if (sql_leave(db, more < 0 ? -1 : 0, e))
			return -1;
	} while (more);
	return 0;
}

int vfs_gc(struct sql *db, struct err *e)
{
	int dropped = destroy_dropped(db, e);
	int copies = dropped < 0 ? -1 : destroy_copies(db, e);

	return copies < 0 ? -1 : dropped + copies;
}
