/* Deletes a snapshot in batches: see vfs/snapshot/snapshot.h. */
#include "vfs/core/core.h"

#include "vfs/core/fork_fill.h"
#include "vfs/snapshot/snapshot.h"

#include <stdio.h>

/* A scan during which others wrote may have missed rows that they added: then
 * there is another one. After this many, the last is one transaction. */
#define PASSES_MAX 20

static const struct {
	unsigned list, hand, drop;
} tables[] = {
	{Q_VFS_DROPPED_INODES, Q_VFS_DROPPED_INODE_PASS,
	 Q_VFS_DROPPED_INODE_DELETE},
	{Q_VFS_DROPPED_CHUNKS, Q_VFS_DROPPED_CHUNK_PASS,
	 Q_VFS_DROPPED_CHUNK_DELETE},
	{Q_VFS_DROPPED_DENTRIES, Q_VFS_DROPPED_DENTRY_PASS,
	 Q_VFS_DROPPED_DENTRY_DELETE},
	{Q_VFS_DROPPED_XATTRS, Q_VFS_DROPPED_XATTR_PASS,
	 Q_VFS_DROPPED_XATTR_DELETE},
};

#define TABLES ((int)(sizeof tables / sizeof tables[0]))

static int hide(struct vfs *v, const char *name, struct err *e)
{
	struct vfs_snap_find_row snap;
	struct vfs_snap_hide_in in;
	char hidden[40];

	if (snapshot_find(v, name, &snap, e) ||
	    fork_complete_from(v, snap.id, e))
		return -1;
	snprintf(hidden, sizeof hidden, ".dropped-%lld", (long long)snap.id);
	in = (struct vfs_snap_hide_in){snap.id, hidden};
	return sql_exec(v->db, Q_VFS_SNAP_HIDE, &in, e) < 0 ? -1 : 0;
}

int vfs_snapshot_hide(struct vfs *v, const char *name, struct err *e)
{
	if (tx_begin(v, e))
		return -1;
	return tx_end(v, hide(v, name, e), e);
}

/* An older snapshot also needs what this one kept, if it contains the object
 * and has not kept it itself. */
static int part_with(struct vfs *v, const struct vfs_drop *d,
		     const struct vfs_snap_row *older,
		     const struct vfs_undo_row *row, struct err *e)
{
	struct vfs_undo_key key = {row->id, row->idx, row->name, d->snap,
				   older->id};

	if (older->id && row->id < range_of(v->ns).lo + older->next_ino) {
		int n = sql_exec(v->db, tables[d->table].hand, &key, e);

		if (n)
			return n < 0 ? -1 : 0;
	}
	if (row->blob != OPT_NONE && blob_unref(v, row->blob, e))
		return -1;
	return sql_exec(v->db, tables[d->table].drop, &key, e) < 0 ? -1 : 0;
}

static void begin_table(struct vfs *v, struct vfs_drop *d, int table)
{
	d->table = table;
	d->id = range_of(v->ns).lo;
	d->idx = d->after = -1;
	d->length = 0;
}

static void remember_place(struct vfs_drop *d, const struct vfs_undo_row *row)
{
	d->id = row->id;
	d->idx = row->idx;
	d->after = row->snap;
	d->length = row->name.n < sizeof d->name ? row->name.n : 0;
	memcpy(d->name, row->name.p ? row->name.p : "", d->length);
}

/* 1: more in this table. */
static int drop_rows(struct vfs *v, struct vfs_drop *d,
		     const struct vfs_snap_row *older, int64_t count,
		     struct err *e)
{
	struct vfs_undo_after in = {.id = d->id,
				    .idx = d->idx,
				    .name = {d->name, d->length},
				    .snap = d->after,
				    .hi = range_of(v->ns).hi,
				    .count = count};
	struct vfs_undo_row *rows;
	struct arena mem = {0};
	int n = sql_collect(v->db, tables[d->table].list, &in, (int)count,
			    &rows, &mem, e);
	int rc = n < 0 ? -1 : n == count;

	for (int i = 0; rc >= 0 && i < n; i++) {
		if (rows[i].snap == d->snap &&
		    part_with(v, d, older, &rows[i], e))
			rc = -1;
		remember_place(d, &rows[i]);
	}
	arena_fini(&mem);
	return rc;
}

static int finish_drop(struct vfs *v, int64_t snap,
		       const struct vfs_snap_row *older, struct err *e)
{
	struct vfs_key key = {.snap = snap};

	if (sql_exec(v->db, Q_VFS_SNAP_DROP, &key, e) < 0)
		return -1;
	return snap == v->keep
		       ? snapshot_is_newest(v, older->id, older->next_ino, e)
		       : 0;
}

/* All tables were scanned. */
static int end_pass(struct vfs *v, struct vfs_drop *d,
		    const struct vfs_snap_row *older, struct err *e)
{
	if (d->snap != v->keep || !d->disturbed)
		return finish_drop(v, d->snap, older, e);
	if (++d->passes == PASSES_MAX)
		return snapshot_drop(v, d->snap, e);
	begin_table(v, d, 0);
	d->disturbed = false;
	return 0;
}

/* Whether anything was written since the last step: by others, or by this
 * connection in addition to that step. */
static void notice(struct vfs *v, struct vfs_drop *d)
{
	if (d->generation != sql_generation(v->db) ||
	    sql_commits(v->db) > d->commits + 1)
		d->disturbed = true;
	d->generation = sql_generation(v->db);
	d->commits = sql_commits(v->db);
}

static int drop_some(struct vfs *v, struct vfs_drop *d, int64_t count,
		     struct err *e)
{
	struct vfs_snap_dropped_in in = {v->ns};
	struct vfs_snap_dropped_row going;
	struct vfs_snap_row older = {0};
	struct vfs_key key = {.id = v->ns};
	struct arena mem = {0};
	int rc = sql_get(v->db, Q_VFS_SNAP_DROPPED, &in, &going, NULL, e);

	d->more = false;
	if (rc <= 0)
		return rc;
	if (d->snap != going.id) {
		*d = (struct vfs_drop){.snap = going.id,
				       .generation = sql_generation(v->db),
				       .commits = sql_commits(v->db)};
		begin_table(v, d, 0);
	}
	notice(v, d);
	key.snap = d->snap;
	rc = sql_get(v->db, Q_VFS_SNAP_BEFORE, &key, &older, &mem, e);
	arena_fini(&mem);
	if (rc >= 0)
		rc = drop_rows(v, d, &older, count < 1 ? 1 : count, e);
	d->more = true;
	if (rc == 0 && d->table + 1 < TABLES)
		begin_table(v, d, d->table + 1);
	else if (rc == 0)
		rc = end_pass(v, d, &older, e);
	return rc < 0 ? -1 : 0;
}

int vfs_snapshot_drop_some(struct vfs *v, struct vfs_drop *d, int64_t count,
			   struct err *e)
{
	if (tx_begin(v, e))
		return -1;
	return tx_end(v, drop_some(v, d, count, e), e) ? -1 : d->more;
}
