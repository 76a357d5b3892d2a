#include "vfs/core/core.h"

#include "vfs/core/fork_fill.h"
#include "vfs/snapshot/snapshot.h"

/* Rolling back to a snapshot, and deleting whole ranges. */

static int exec_on_range(struct vfs *v, unsigned query,
			 const struct vfs_range *r, struct err *e)
{
	return sql_exec(v->db, query, r, e) < 0 ? -1 : 0;
}

static int unref_content(struct vfs *v, int64_t blob, struct err *e)
{
	return blob == OPT_NONE ? 0 : blob_unref(v, blob, e);
}

/* The before-image becomes the node again, together with its reference to the
 * blob. */
static int put_back_inode(struct vfs *v, int64_t id, int64_t snap,
			  struct err *e)
{
	struct vfs_key key = {.id = id, .snap = snap};
	struct node now;
	int found = node_find(v, id & INO_MASK, &now, e);

	if (found < 0 || (found && unref_content(v, now.blob, e)) ||
	    sql_exec(v->db, Q_VFS_BACK_INODE, &key, e) < 0)
		return -1;
	return sql_exec(v->db, Q_VFS_UNDO_INODE_DROP, &key, e) < 0 ? -1 : 0;
}

static int put_back_inodes(struct vfs *v, int64_t snap, struct err *e)
{
	struct vfs_undo_page page = undo_page(v->ns, snap);
	struct vfs_undo_inodes_row *rows;
	struct arena mem = {0};
	int n, rc = 0;

	do {
		arena_reset(&mem);
		n = sql_collect(v->db, Q_VFS_UNDO_INODES, &page,
				(int)page.count, &rows, &mem, e);
		for (int i = 0; rc == 0 && i < n; i++)
			rc = put_back_inode(v, rows[i].id, snap, e);
		if (n > 0)
			page.id = rows[n - 1].id;
	} while (rc == 0 && n == page.count);
	arena_fini(&mem);
	return n < 0 ? -1 : rc;
}

static int put_back_chunk(struct vfs *v, struct vfs_key key, struct err *e)
{
	struct vfs_chunk_get_row now = {.blob = OPT_NONE};

	if (sql_get(v->db, Q_VFS_CHUNK_GET, &key, &now, NULL, e) < 0 ||
	    unref_content(v, now.blob, e) ||
	    sql_exec(v->db,
		     key.blob == OPT_NONE ? Q_VFS_CHUNK_DROP : Q_VFS_CHUNK_PUT,
		     &key, e) < 0)
		return -1;
	return sql_exec(v->db, Q_VFS_UNDO_CHUNK_DROP, &key, e) < 0 ? -1 : 0;
}

static int put_back_chunks(struct vfs *v, int64_t snap, struct err *e)
{
	struct vfs_undo_page page = undo_page(v->ns, snap);
	struct vfs_undo_chunks_row *rows;
	struct arena mem = {0};
	int n, rc = 0;

	do {
		arena_reset(&mem);
		n = sql_collect(v->db, Q_VFS_UNDO_CHUNKS, &page,
				(int)page.count, &rows, &mem, e);
		for (int i = 0; rc == 0 && i < n; i++)
			rc = put_back_chunk(
				v,
				(struct vfs_key){.id = rows[i].id,
						 .idx = rows[i].idx,
						 .snap = snap,
						 .blob = rows[i].blob},
				e);
		if (n > 0) {
			page.id = rows[n - 1].id;
			page.idx = rows[n - 1].idx;
		}
	} while (rc == 0 && n == page.count);
	arena_fini(&mem);
	return n < 0 ? -1 : rc;
}

static int put_back(struct vfs *v, int64_t snap, struct err *e)
{
	struct vfs_range r = range_of(v->ns);

	r.snap = snap;
	if (put_back_chunks(v, snap, e) || put_back_inodes(v, snap, e) ||
	    exec_on_range(v, Q_VFS_BACK_DENTRIES_OUT, &r, e) ||
	    exec_on_range(v, Q_VFS_BACK_DENTRIES_IN, &r, e) ||
	    exec_on_range(v, Q_VFS_UNDO_DENTRIES_DROP, &r, e) ||
	    exec_on_range(v, Q_VFS_BACK_XATTRS_OUT, &r, e) ||
	    exec_on_range(v, Q_VFS_BACK_XATTRS_IN, &r, e))
		return -1;
	return exec_on_range(v, Q_VFS_UNDO_XATTRS_DROP, &r, e);
}

/* One statement deletes the nodes. Before, each gives up its content. */
static int drop_inodes(struct vfs *v, const struct vfs_range *r, struct err *e)
{
	struct vfs_range rest = *r;
	struct vfs_range_blobs_row *rows;
	struct arena mem = {0};
	int n, rc = 0;

	do {
		arena_reset(&mem);
		n = sql_collect(v->db, Q_VFS_RANGE_BLOBS, &rest, 500, &rows,
				&mem, e);
		for (int i = 0; rc == 0 && i < n; i++)
			rc = blob_unref(v, rows[i].blob, e);
		if (n > 0)
			rest.lo = rows[n - 1].id + 1;
	} while (rc == 0 && n == 500);
	arena_fini(&mem);
	return n < 0 || rc ? -1
			   : exec_on_range(v, Q_VFS_RANGE_INODES_DROP, r, e);
}

static int drop_chunks(struct vfs *v, const struct vfs_range *r, struct err *e)
{
	struct vfs_range_chunks_row *rows;
	struct arena mem = {0};
	int n, rc = 0;

	do {
		arena_reset(&mem);
		n = sql_collect(v->db, Q_VFS_RANGE_CHUNKS, r, 500, &rows, &mem,
				e);
		for (int i = 0; rc == 0 && i < n; i++) {
			struct vfs_key key = {.id = rows[i].id,
					      .idx = rows[i].idx};

			if (unref_content(v, rows[i].blob, e) ||
			    sql_exec(v->db, Q_VFS_CHUNK_DROP, &key, e) < 0)
				rc = -1;
		}
	} while (rc == 0 && n == 500);
	arena_fini(&mem);
	return n < 0 ? -1 : rc;
}

int range_drop(struct vfs *v, const struct vfs_range *r, struct err *e)
{
	if (drop_chunks(v, r, e) || drop_inodes(v, r, e) ||
	    exec_on_range(v, Q_VFS_RANGE_DENTRIES_DROP, r, e) ||
	    exec_on_range(v, Q_VFS_RANGE_XATTRS_DROP, r, e) ||
	    exec_on_range(v, Q_VFS_RANGE_HOSTS_DROP, r, e))
		return -1;
	return exec_on_range(v, Q_VFS_RANGE_ORPHANS_DROP, r, e);
}

/* From the newest snapshot back to this one. */
static int back_to(struct vfs *v, int64_t snap, struct err *e)
{
	struct vfs_key key = {.id = v->ns};
	struct arena mem = {0};
	struct vfs_snap_row *rows;
	int n = sql_collect(v->db, Q_VFS_SNAP_LIST, &key, INT32_MAX, &rows,
			    &mem, e);
	int rc = n < 0 ? -1 : 0;

	for (int i = n - 1; rc == 0 && i >= 0 && rows[i].id > snap; i--)
		rc = fork_complete_from(v, rows[i].id, e);
	for (int i = n - 1; rc == 0 && i >= 0 && rows[i].id >= snap; i--) {
		struct vfs_key gone = {.snap = rows[i].id};

		rc = put_back(v, rows[i].id, e);
		if (rc == 0 && rows[i].id > snap &&
		    sql_exec(v->db, Q_VFS_SNAP_DROP, &gone, e) < 0)
			rc = -1;
	}
	arena_fini(&mem);
	return rc;
}

static int rollback_in(struct vfs *v, const char *name, struct err *e)
{
	struct vfs_snap_find_row snap;
	struct vfs_range newer = range_of(v->ns);
	struct vfs_at at = {0, name};

	if (snapshot_find(v, name, &snap, e) || back_to(v, snap.id, e))
		return -1;
	newer.lo += snap.next_ino;
	if (range_drop(v, &newer, e) ||
	    snapshot_is_newest(v, snap.id, snap.next_ino, e) ||
	    quota_recount(v, e))
		return -1;
	return journal_add(v, VFS_OP_rollback, at, 0, e);
}

int vfs_rollback_to(struct vfs *v, const char *name, struct err *e)
{
	int rc;

	if (tx_begin(v, e))
		return -1;
	sql_bulk_begin(v->db);
	rc = tx_end(v, rollback_in(v, name, e), e);
	sql_bulk_end(v->db);
	return rc;
}
