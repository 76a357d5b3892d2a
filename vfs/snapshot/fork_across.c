/* A fork of a namespace in another file: see vfs/snapshot/snapshot.h. */
#include "vfs/core/core.h"
#include "vfs/core/fork_fill.h"

#include "lib/base/clock.h"
#include "lib/base/fault.h"
#include "lib/base/hash.h"
#include "lib/base/text.h"
#include "lib/os/process.h"
#include "vfs/snapshot/snapshot.h"

#include <inttypes.h>
#include <stdio.h>

/* Of one transaction. Other writers wait for it. */
#define BATCH_ROWS  2000
#define BATCH_BYTES (4u << 20)

struct across {
	struct vfs *from, *to;
	const struct vfs_fork_new *new;
	struct vfs_range range; /* of the source */
	int64_t by;             /* ids move by this */
	size_t rows, bytes;     /* of this transaction */
	bool open;              /* there is one */
};

static int begin_batch(struct across *x, struct err *e)
{
	x->open = sql_enter(x->to->db, e) == 0;
	return x->open ? 0 : -1;
}

static int end_batch(struct across *x, int rc, struct err *e)
{
	if (!x->open)
		return -1;
	x->open = false;
	return sql_leave(x->to->db, rc, e);
}

/* Commits the transaction if it is large enough, and begins the next one. */
static int count_row(struct across *x, size_t bytes, struct err *e)
{
	x->bytes += bytes;
	if (++x->rows < BATCH_ROWS && x->bytes < BATCH_BYTES)
		return 0;
	x->rows = x->bytes = 0;
	if (end_batch(x, 0, e))
		return -1;
	if (x->new->progress)
		x->new->progress();
	return fault_point(FAULT_fork_batch, e) ? -1 : begin_batch(x, e);
}

/* A column that is not NULL: SQLite gives no pointer for an empty value. */
static void not_null(struct blob *b)
{
	if (!b->p)
		b->p = "";
}

static int copy_content(struct across *x, struct vfs_blob_row *row,
			int64_t *out, struct err *e)
{
	struct vfs_copied_find_row old;
	struct vfs_copied_add_in new;
	char digest[HASH_HEX];
	size_t n;
	int found;

	if (blob_unpack(row, x->from->chunk, &n, e))
		return -1;
	hash_of(x->from->chunk, n, digest);
	found = sql_get(x->to->db, Q_VFS_COPIED_FIND,
			&(struct vfs_copied_find_in){digest}, &old, NULL, e);
	*out = found > 0 ? old.blob : 0;
	if (found)
		return found < 0 ? -1 : 0;
	not_null(&row->data);
	if (sql_exec(x->to->db, Q_VFS_BLOB_ADD, row, e) < 0)
		return -1;
	*out = sql_last_rowid(x->to->db);
	x->bytes += row->data.n;
	new = (struct vfs_copied_add_in){digest, *out};
	return sql_exec(x->to->db, Q_VFS_COPIED_ADD, &new, e) < 0 ? -1 : 0;
}

/* The content of a row in the target, with a reference for that row. */
static int take_content(struct across *x, int64_t *blob, struct err *e)
{
	struct vfs_key key = {.id = *blob};
	struct sql_rows it;
	struct vfs_blob_row row;
	struct err why;
	int rc;

	if (*blob == OPT_NONE || *blob == 0)
		return 0;
	it = sql_rows(x->from->db, Q_VFS_BLOB_GET, &key);
	if (sql_next(&it, &row))
		rc = copy_content(x, &row, blob, &why);
	else
		rc = err_set(&why, ERR_CORRUPT,
			     "content %" PRId64 " of %s is missing; run "
			     "'skep vfs fsck'",
			     key.id, sql_path(x->from->db));
	if (sql_end(&it, e))
		return -1;
	if (rc)
		*e = why;
	return rc ? -1 : blob_ref(x->to, *blob, e);
}

/* --- tables -------------------------------------------------------------- */

static int put(struct across *x, unsigned query, const void *row, size_t bytes,
	       struct err *e)
{
	if (sql_exec(x->to->db, query, row, e) < 0)
		return -1;
	return count_row(x, bytes, e);
}

static int copy_inode(struct across *x, void *row, struct err *e)
{
	struct vfs_inode_new *n = row;

	n->id += x->by;
	not_null(&n->name);
	return take_content(x, &n->blob, e) ||
			       put(x, Q_VFS_INODE_ADD, n, n->name.n, e)
		       ? -1
		       : 0;
}

static int copy_chunk(struct across *x, void *row, struct err *e)
{
	const struct vfs_view_chunks_row *c = row;
	struct vfs_key key = {
		.id = c->id + x->by, .idx = c->idx, .blob = c->blob};

	return take_content(x, &key.blob, e) ||
			       put(x, Q_VFS_CHUNK_PUT, &key, 0, e)
		       ? -1
		       : 0;
}

static int copy_dentry(struct across *x, void *row, struct err *e)
{
	const struct vfs_view_dentries_row *d = row;
	struct vfs_key key = {.id = d->id + x->by,
			      .name = d->name,
			      .ino = d->ino,
			      .type = d->type};

	return put(x, Q_VFS_DENTRY_ADD, &key, d->name.n, e);
}

static int copy_xattr(struct across *x, void *row, struct err *e)
{
	const struct vfs_view_xattrs_row *a = row;
	struct vfs_key key = {
		.id = a->id + x->by, .name = a->name, .value = a->value};

	not_null(&key.value);
	return put(x, Q_VFS_XATTR_PUT, &key, a->value.n, e);
}

static int copy_lower(struct across *x, void *row, struct err *e)
{
	struct vfs_lower_full *l = row;

	l->id += x->by;
	not_null(&l->path);
	return put(x, Q_VFS_LOWER_COPY, l, l->path.n, e);
}

static const struct {
	unsigned list;
	int (*copy)(struct across *x, void *row, struct err *e);
} tables[] = {
	{Q_VFS_VIEW_INODES, copy_inode},    {Q_VFS_VIEW_CHUNKS, copy_chunk},
	{Q_VFS_VIEW_DENTRIES, copy_dentry}, {Q_VFS_VIEW_XATTRS, copy_xattr},
	{Q_VFS_VIEW_LOWER, copy_lower},
};

static int copy_table(struct across *x, size_t table, struct err *e)
{
	union {
		struct vfs_inode_new inode;
		struct vfs_view_chunks_row chunk;
		struct vfs_view_dentries_row dentry;
		struct vfs_view_xattrs_row xattr;
		struct vfs_lower_full lower;
	} row;
	struct sql_rows it = sql_rows(x->from->db, tables[table].list,
				      &x->range);
	struct err why;
	int rc = 0;

	while (rc == 0 && sql_next(&it, &row))
		rc = tables[table].copy(x, &row, &why);
	if (sql_end(&it, e))
		return -1;
	if (rc)
		*e = why;
	return rc;
}

/* Nodes that only an open file of the source keeps. */
static int drop_unnamed(struct vfs *to, struct err *e)
{
	struct vfs_range r = range_of(to->ns);
	struct arena mem = {0};
	struct vfs_number *rows;
	int n = sql_collect(to->db, Q_VFS_UNNAMED, &r, INT32_MAX, &rows, &mem,
			    e);
	int rc = n < 0 ? -1 : 0;

	for (int i = 0; rc == 0 && i < n; i++) {
		struct node node;

		rc = node_get(to, rows[i].n & INO_MASK, &node, e) ||
				     node_drop(to, &node, e)
			     ? -1
			     : 0;
	}
	arena_fini(&mem);
	return rc;
}

/* --- the whole ----------------------------------------------------------- */

static int copy_tables(struct across *x, struct err *e)
{
	for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
		if (copy_table(x, i, e))
			return -1;
	return drop_unnamed(x->to, e);
}

static int copy_all(struct across *x, struct err *e)
{
	int rc;

	x->range = range_of(x->from->ns);
	x->by = range_of(x->to->ns).lo - x->range.lo;
	x->range.snap = x->from->snap;
	if (x->from->snap)
		x->range.hi = x->range.lo + x->from->snap_next_ino;
	if (vfs_begin_read(x->from, e))
		return -1;
	rc = begin_batch(x, e);
	if (rc == 0)
		rc = end_batch(x, copy_tables(x, e), e);
	vfs_end_read(x->from);
	return rc;
}

static int limit_growth(struct across *x, struct err *e)
{
	struct vfs_range all = range_of(x->to->ns);
	struct vfs_ns_usage_row now;
	struct vfs_ns_quota_in in = {.id = x->to->ns};

	if (!x->new->max_growth || x->to->base)
		return 0;
	if (sql_get(x->to->db, Q_VFS_NS_USAGE, &all, &now, NULL, e) < 0)
		return -1;
	in.bytes = now.bytes;
	in.files = now.files;
	in.max_bytes = now.bytes + x->new->max_growth;
	return sql_exec(x->to->db, Q_VFS_NS_QUOTA, &in, e) < 0 ? -1 : 0;
}

/* In the last transaction. */
static int show_in(struct across *x, struct err *e)
{
	struct vfs_ns_rename_in in = {x->to->ns, x->new->name};

	if (ns_check_free(x->to->db, x->new->name, e) ||
	    sql_exec(x->to->db, Q_VFS_NS_RENAME, &in, e) < 0 ||
	    vfs_set_run(x->to->db, x->new->name, x->new->run, x->new->ephemeral,
			e) ||
	    limit_growth(x, e))
		return -1;
	/* `diff` of the fork starts here */
	return snapshot_add(x->to, VFS_FORK_POINT, true, e);
}

static int show(struct across *x, struct err *e)
{
	if (fault_point(FAULT_fork_copied, e) || sql_enter(x->to->db, e))
		return -1;
	return sql_leave(x->to->db, show_in(x, e), e);
}

static int add_hidden(struct sql *db, const char *name, const char *base,
		      struct err *e)
{
	struct vfs_ns_add_in row = {
		.name = name, .base = base, .made_at = clock_now_ns()};

	if (sql_enter(db, e))
		return -1;
	return sql_leave(db, sql_exec(db, Q_VFS_NS_ADD, &row, e) < 0 ? -1 : 0,
			 e);
}

static int complete_in(struct sql *db, const char *name, struct err *e)
{
	struct vfs *v;
	int rc;

	if (vfs_attach(&v, db, name, "fork", e))
		return -1;
	rc = tx_begin(v, e) ? -1 : tx_end(v, fork_complete(v, e), e);
	vfs_close(v);
	return rc;
}

/* A source that is itself a fork reads its unread directories first. This is
 * a change, and v may be open for reading only. */
static int complete_source(struct vfs *v, struct err *e)
{
	struct sql *db;
	int rc;

	if (!v->source)
		return 0;
	if (sql_open(&db, sql_path(v->db), sql_queries(v->db), 0, e))
		return -1;
	rc = complete_in(db, v->name, e);
	sql_close(db);
	return rc;
}

int vfs_fork_across(struct vfs *v, struct sql *db,
		    const struct vfs_fork_new *new, struct err *e)
{
	struct process_identity self = process_self();
	struct across x = {.from = v, .new = new};
	struct err ignored;
	char hidden[64];
	int rc;

	snprintf(hidden, sizeof hidden, VFS_COPY "%" PRId64 "-%" PRId64,
		 self.pid, self.start_ticks);
	if (text_check_name("the namespace", new->name, e) ||
	    ns_check_free(db, new->name, e) || complete_source(v, e) ||
	    vfs_gc(db, e) < 0 || add_hidden(db, hidden, v->base, e))
		return -1;
	sql_bulk_begin(db);
	rc = vfs_attach(&x.to, db, hidden, v->who, e);
	if (rc == 0)
		rc = copy_all(&x, e) || show(&x, e) ? -1 : 0;
	vfs_close(x.to);
	sql_bulk_end(db);
	if (rc)
		(void)ns_destroy(db, hidden, &ignored);
	return rc;
}
