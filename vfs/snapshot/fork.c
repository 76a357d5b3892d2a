#include "vfs/core/core.h"

#include "vfs/core/fork_fill.h"
#include "vfs/core/lower.h"
#include "vfs/snapshot/snapshot.h"

#include "lib/base/clock.h"
#include "lib/base/text.h"

#include <stdio.h>

/* With a lower directory, a fork copies the rows of one range to another range.
 * Both halves of the view of a snapshot (unchanged rows and before-images) are
 * copied; the live tree has only the first. Otherwise it reads them from a
 * snapshot when they are needed (vfs/core/fork_fill.h). */

static const unsigned live_half[] = {Q_VFS_FORK_INODES, Q_VFS_FORK_DENTRIES,
				     Q_VFS_FORK_CHUNKS, Q_VFS_FORK_XATTRS,
				     Q_VFS_FORK_HOSTS};
static const unsigned kept_half[] = {
	Q_VFS_FORK_OLD_INODES, Q_VFS_FORK_OLD_DENTRIES, Q_VFS_FORK_OLD_CHUNKS,
	Q_VFS_FORK_OLD_XATTRS};

static int run_all(struct vfs *v, const unsigned *queries, size_t n,
		   const struct vfs_range *r, struct err *e)
{
	for (size_t i = 0; i < n; i++)
		if (sql_exec(v->db, queries[i], r, e) < 0)
			return -1;
	return 0;
}

static int copy_rows(struct vfs *v, struct vfs *child, struct err *e)
{
	struct vfs_range r = range_of(v->ns), to = range_of(child->ns);
	static const unsigned shares[] = {Q_VFS_FORK_SHARE_INODES,
					  Q_VFS_FORK_SHARE_CHUNKS};

	r.by = to.lo - r.lo;
	r.snap = v->snap;
	if (v->snap)
		r.hi = r.lo + v->snap_next_ino;
	if (run_all(v, live_half, 5, &r, e) ||
	    (v->snap && run_all(v, kept_half, 4, &r, e)))
		return -1;
	return run_all(v, shares, 2, &to, e);
}

/* Nodes that only an open file keeps are not part of the tree. */
static int drop_nameless(struct vfs *v, struct vfs *child, struct err *e)
{
	struct vfs_range r = range_of(v->ns);
	struct arena mem = {0};
	struct vfs_owner *rows;
	int n = sql_collect(v->db, Q_VFS_ORPHAN_LIST, &r, INT32_MAX, &rows,
			    &mem, e);
	int rc = n < 0 ? -1 : 0;

	for (int i = 0; rc == 0 && i < n; i++) {
		struct node node;
		int found = node_find(child, rows[i].id & INO_MASK, &node, e);

		if (found < 0 ||
		    (found && node.nlink == 0 && node_drop(child, &node, e)))
			rc = -1;
	}
	arena_fini(&mem);
	return rc;
}

/* The current tree becomes a snapshot, which is deleted with the fork. */
static int share_rows(struct vfs *v, struct vfs *child, struct err *e)
{
	char own[40];

	if (v->snap)
		return fork_begin(child, v->snap, e);
	snprintf(own, sizeof own, VFS_SOURCE "%lld", (long long)child->ns);
	return snapshot_add(v, own, true, e) ? -1
					     : fork_begin(child, v->keep, e);
}

static int fork_in(struct vfs *v, const char *name, struct err *e)
{
	struct vfs child = {
		.db = v->db, .base_fd = -1, .name = v->name, .base = v->base};
	struct vfs_ns_add_in row = {.name = name,
				    .base = v->base,
				    .parent = v->ns,
				    .made_at = clock_now_ns()};

	if (ns_check_free(v->db, name, e) || fork_complete(v, e) ||
	    (!v->snap && lower_fill_all(v, e)) ||
	    sql_exec(v->db, Q_VFS_NS_ADD, &row, e) < 0)
		return -1;
	child.ns = sql_last_rowid(v->db);
	if (v->base ? copy_rows(v, &child, e) || drop_nameless(v, &child, e)
		    : share_rows(v, &child, e))
		return -1;
	if (quota_inherit(v, v->snap, &child, e))
		return -1;
	return snapshot_add(&child, VFS_FORK_POINT, true, e);
}

static int fork_whole(struct vfs *v, const char *name, struct err *e)
{
	if (!v->snap) {
		if (tx_begin(v, e))
			return -1;
		return tx_end(v, fork_in(v, name, e), e);
	}
	vfs_end_read(v);
	if (sql_enter(v->db, e))
		return -1;
	return sql_leave(v->db, fork_in(v, name, e), e);
}

int vfs_fork(struct vfs *v, const char *name, struct err *e)
{
	int rc;

	if (text_check_name("the namespace", name, e))
		return -1;
	sql_bulk_begin(v->db);
	rc = fork_whole(v, name, e);
	sql_bulk_end(v->db);
	return rc;
}
