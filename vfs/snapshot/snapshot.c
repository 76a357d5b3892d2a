#include "vfs/snapshot/snapshot.h"
#include "vfs/core/core.h"

#include "vfs/core/fork_fill.h"
#include "vfs/core/lower.h"

#include "lib/base/clock.h"
#include "lib/base/text.h"

/* A namespace's range, for the rows under snapshot `snap`. */
static struct vfs_range under(const struct vfs *v, int64_t snap)
{
	struct vfs_range r = range_of(v->ns);

	r.snap = snap;
	return r;
}

static int exec_on_range(struct vfs *v, unsigned query,
			 const struct vfs_range *r, struct err *e)
{
	return sql_exec(v->db, query, r, e) < 0 ? -1 : 0;
}

struct vfs_undo_page undo_page(int64_t ns, int64_t snap)
{
	struct vfs_range r = range_of(ns);

	return (struct vfs_undo_page){
		.id = r.lo - 1, .hi = r.hi, .snap = snap, .count = 500};
}

int snapshot_is_newest(struct vfs *v, int64_t snap, int64_t next_ino,
		       struct err *e)
{
	struct vfs_key key = {.id = v->ns, .snap = snap, .ino = next_ino};

	v->keep = snap;
	v->keep_next_ino = next_ino;
	v->next_ino = v->next_lower = 0;
	return sql_exec(v->db, Q_VFS_NS_SNAP, &key, e) < 0 ? -1 : 0;
}

int snapshot_add(struct vfs *v, const char *name, bool hidden, struct err *e)
{
	struct vfs_snap_row row = {.ns = v->ns,
				   .name = name,
				   .hidden = hidden,
				   .made_at = clock_now_ns()};
	struct vfs_snap_find_in key = {v->ns, name};
	struct vfs_snap_find_row old;
	int found = sql_get(v->db, Q_VFS_SNAP_FIND, &key, &old, NULL, e);

	if (found)
		return found < 0
			       ? -1
			       : err_set(e, ERR_CONFLICT,
					 "snapshot '%s' already exists", name);
	if (quota_write(v, e) || ino_peek(v, &row.next_ino, e) ||
	    sql_exec(v->db, Q_VFS_SNAP_ADD, &row, e) < 0)
		return -1;
	return snapshot_is_newest(v, sql_last_rowid(v->db), row.next_ino, e);
}

static int snapshot_in(struct vfs *v, const char *name, struct err *e)
{
	struct vfs_at at = {0, name};

	if (lower_fill_all(v, e) || snapshot_add(v, name, false, e))
		return -1;
	return journal_add(v, VFS_OP_snapshot, at, 0, e);
}

int vfs_snapshot(struct vfs *v, const char *name, struct err *e)
{
	int rc;

	if (text_check_name("the snapshot", name, e) || tx_begin(v, e))
		return -1;
	sql_bulk_begin(v->db); /* the first one reads the lower directory */
	rc = tx_end(v, snapshot_in(v, name, e), e);
	sql_bulk_end(v->db);
	return rc;
}

int snapshot_find(struct vfs *v, const char *name,
		  struct vfs_snap_find_row *out, struct err *e)
{
	struct vfs_snap_find_in key = {v->ns, name};
	int found = sql_get(v->db, Q_VFS_SNAP_FIND, &key, out, NULL, e);

	if (found)
		return found < 0 ? -1 : 0;
	return err_set(e, ERR_NOTFOUND, "namespace '%s' has no snapshot '%s'",
		       v->name, quoted(name).text);
}

/* Releases the blobs of a snapshot's undo rows, and deletes the rows. */
static int forget_inodes(struct vfs *v, int64_t snap, struct err *e)
{
	struct vfs_undo_page page = undo_page(v->ns, snap);
	struct vfs_undo_inodes_row *rows;
	struct arena mem = {0};
	int n, rc = 0;

	do {
		arena_reset(&mem);
		n = sql_collect(v->db, Q_VFS_UNDO_INODES, &page,
				(int)page.count, &rows, &mem, e);
		for (int i = 0; rc == 0 && i < n; i++) {
			struct vfs_key key = {.id = rows[i].id, .snap = snap};

			if ((rows[i].blob != OPT_NONE &&
			     blob_unref(v, rows[i].blob, e)) ||
			    sql_exec(v->db, Q_VFS_UNDO_INODE_DROP, &key, e) < 0)
				rc = -1;
		}
		if (n > 0)
			page.id = rows[n - 1].id;
	} while (rc == 0 && n == page.count);
	arena_fini(&mem);
	return n < 0 ? -1 : rc;
}

static int forget_chunks(struct vfs *v, int64_t snap, struct err *e)
{
	struct vfs_undo_page page = undo_page(v->ns, snap);
	struct vfs_undo_chunks_row *rows;
	struct arena mem = {0};
	int n, rc = 0;

	do {
		arena_reset(&mem);
		n = sql_collect(v->db, Q_VFS_UNDO_CHUNKS, &page,
				(int)page.count, &rows, &mem, e);
		for (int i = 0; rc == 0 && i < n; i++) {
			struct vfs_key key = {.id = rows[i].id,
					      .idx = rows[i].idx,
					      .snap = snap};

			if ((rows[i].blob != OPT_NONE &&
			     blob_unref(v, rows[i].blob, e)) ||
			    sql_exec(v->db, Q_VFS_UNDO_CHUNK_DROP, &key, e) < 0)
				rc = -1;
		}
		if (n > 0) {
			page.id = rows[n - 1].id;
			page.idx = rows[n - 1].idx;
		}
	} while (rc == 0 && n == page.count);
	arena_fini(&mem);
	return n < 0 ? -1 : rc;
}

static int forget(struct vfs *v, int64_t snap, struct err *e)
{
	struct vfs_range r = under(v, snap);
	struct vfs_key key = {.snap = snap};

	if (forget_inodes(v, snap, e) || forget_chunks(v, snap, e) ||
	    exec_on_range(v, Q_VFS_UNDO_DENTRIES_DROP, &r, e) ||
	    exec_on_range(v, Q_VFS_UNDO_XATTRS_DROP, &r, e))
		return -1;
	return sql_exec(v->db, Q_VFS_SNAP_DROP, &key, e) < 0 ? -1 : 0;
}

/* An older snapshot also needs what this one kept, if it contains the object
 * and has not kept it itself. */
static int pass_to_older(struct vfs *v, int64_t snap,
			 const struct vfs_snap_row *older, struct err *e)
{
	struct vfs_range r = under(v, snap);

	r.hi = r.lo + older->next_ino;
	r.to = older->id;
	return exec_on_range(v, Q_VFS_PASS_INODES, &r, e) ||
			       exec_on_range(v, Q_VFS_PASS_DENTRIES, &r, e) ||
			       exec_on_range(v, Q_VFS_PASS_CHUNKS, &r, e) ||
			       exec_on_range(v, Q_VFS_PASS_XATTRS, &r, e)
		       ? -1
		       : 0;
}

int snapshot_drop(struct vfs *v, int64_t snap, struct err *e)
{
	struct vfs_key key = {.id = v->ns, .snap = snap};
	struct vfs_snap_row older = {0};
	struct arena mem = {0};
	int found = fork_complete_from(v, snap, e)
			    ? -1
			    : sql_get(v->db, Q_VFS_SNAP_BEFORE, &key, &older,
				      &mem, e);

	arena_fini(&mem);
	if (found < 0 || (found && pass_to_older(v, snap, &older, e)) ||
	    forget(v, snap, e))
		return -1;
	if (snap != v->keep)
		return 0;
	return snapshot_is_newest(v, older.id, older.next_ino, e);
}

static int drop_named(struct vfs *v, const char *name, struct err *e)
{
	struct vfs_snap_find_row snap;

	return snapshot_find(v, name, &snap, e) ? -1
						: snapshot_drop(v, snap.id, e);
}

int vfs_snapshot_drop(struct vfs *v, const char *name, struct err *e)
{
	int rc;

	if (tx_begin(v, e))
		return -1;
	sql_bulk_begin(v->db);
	rc = tx_end(v, drop_named(v, name, e), e);
	sql_bulk_end(v->db);
	return rc;
}

int vfs_snapshots(struct vfs *v, struct vfs_snapshot **out, struct arena *a,
		  struct err *e)
{
	struct vfs_key key = {.id = v->ns};
	struct vfs_snap_row *rows;
	int n = sql_collect(v->db, Q_VFS_SNAP_LIST, &key, 100000, &rows, a, e);
	int shown = 0;

	if (n < 0)
		return -1;
	*out = arena_alloc(a, (size_t)n * sizeof **out + 1);
	for (int i = 0; i < n; i++)
		if (!rows[i].hidden)
			(*out)[shown++] = (struct vfs_snapshot){
				rows[i].name, rows[i].made_at};
	return shown;
}
