#include "vfs/core/fork_fill.h"

#include "vfs/core/core.h"
#include "vfs/snapshot/snapshot.h"

#include <stdio.h>
#include <string.h>

/* In this order: contents and attributes are copied for nodes that the fork does
 * not have yet, so the nodes follow last. */
static const unsigned fill_queries[] = {
	Q_VFS_FILL_DENTRIES,     Q_VFS_FILL_UNREAD,
	Q_VFS_FILL_SHARE_INODES, Q_VFS_FILL_SHARE_OLD_INODES,
	Q_VFS_FILL_SHARE_CHUNKS, Q_VFS_FILL_SHARE_OLD_CHUNKS,
	Q_VFS_FILL_CHUNKS,       Q_VFS_FILL_OLD_CHUNKS,
	Q_VFS_FILL_XATTRS,       Q_VFS_FILL_OLD_XATTRS,
	Q_VFS_FILL_INODES,       Q_VFS_FILL_OLD_INODES,
};

struct source {
	int64_t ns, next_ino;
	bool own; /* the snapshot was taken for this fork */
};

/* The name of a snapshot that only one fork needs. */
static void own_name(const struct vfs *v, char out[40])
{
	snprintf(out, 40, VFS_SOURCE "%lld", (long long)v->ns);
}

static int find_source(struct vfs *v, struct source *out, struct err *e)
{
	struct vfs_key key = {.snap = v->source};
	struct vfs_source_get_row row;
	struct arena mem = {0};
	char own[40];
	int found = sql_get(v->db, Q_VFS_SOURCE_GET, &key, &row, &mem, e);

	own_name(v, own);
	if (found > 0)
		*out = (struct source){row.ns, row.next_ino,
				       !strcmp(row.name, own)};
	arena_fini(&mem);
	if (found == 0)
		return err_set(e, ERR_CORRUPT,
			       "the snapshot that %s was forked from is "
			       "missing; run 'skep vfs fsck'",
			       v->name);
	return found < 0 ? -1 : 0;
}

static struct vfs_fill fill_of(const struct vfs *v, const struct source *s,
			       int64_t dir)
{
	return (struct vfs_fill){(s->ns << NS_SHIFT) | dir, id_of(v, dir),
				 v->source};
}

int fork_begin(struct vfs *fork, int64_t source_snap, struct err *e)
{
	struct vfs_key set = {.id = fork->ns, .snap = source_snap};
	struct vfs_key root = {.id = id_of(fork, VFS_ROOT)};
	struct vfs_fill fill;
	struct source s;

	fork->source = source_snap;
	if (find_source(fork, &s, e))
		return -1;
	fill = fill_of(fork, &s, VFS_ROOT);
	fork->next_ino = s.next_ino;
	return sql_exec(fork->db, Q_VFS_NS_SET_SOURCE, &set, e) < 0 ||
			       sql_exec(fork->db, Q_VFS_FILL_ROOT, &fill, e) <
				       0 ||
			       sql_exec(fork->db, Q_VFS_FILL_ROOT_XATTRS, &fill,
					e) < 0 ||
			       sql_exec(fork->db, Q_VFS_UNREAD_ADD, &root, e) <
				       0
		       ? -1
		       : 0;
}

/* A directory that was read stays so: this is remembered, unless the transaction
 * that has read it may still be rolled back. */
int fork_is_unread(struct vfs *v, int64_t dir, struct err *e)
{
	struct vfs_key key = {.id = id_of(v, dir)};
	struct vfs_number one;
	int found;

	if (!v->source || node_refs_count(&v->read, dir))
		return 0;
	found = sql_get(v->db, Q_VFS_UNREAD_GET, &key, &one, NULL, e);
	if (found == 0 && !sql_is_writing(v->db))
		node_refs_add(&v->read, dir, 1);
	return found;
}

static int fill_in(struct vfs *v, int64_t dir, struct err *e)
{
	struct vfs_key key = {.id = id_of(v, dir)};
	struct vfs_fill fill;
	struct source s;
	int unread = fork_is_unread(v, dir, e);

	/* another process may have been faster */
	if (unread <= 0)
		return unread;
	if (find_source(v, &s, e))
		return -1;
	fill = fill_of(v, &s, dir);
	if (sql_exec(v->db, Q_VFS_UNREAD_DROP, &key, e) < 0)
		return -1;
	for (size_t i = 0; i < sizeof fill_queries / sizeof *fill_queries; i++)
		if (sql_exec(v->db, fill_queries[i], &fill, e) < 0)
			return -1;
	v->node_cache.missing.dir = 0;
	if (v->tracks && !node_refs_count(&v->changed, dir))
		node_refs_add(&v->changed, dir, 1);
	return 0;
}

/* A read transaction is suspended. */
int fork_fill(struct vfs *v, int64_t dir, struct err *e)
{
	bool was_reading = v->reading;
	int unread = fork_is_unread(v, dir, e), rc;

	if (unread <= 0)
		return unread;
	if (sql_is_writing(v->db))
		return fill_in(v, dir, e);
	blob_end_direct(v);
	v->reading = false;
	if (sql_leave(v->db, 0, e) || sql_enter(v->db, e))
		return -1;
	rc = sql_leave(v->db, fill_in(v, dir, e), e);
	if (sql_enter_read(v->db, e))
		return -1;
	v->reading = was_reading;
	return rc;
}

/* --- the end of the dependence --------------------------------------------- */

/* The source of a fork, as far as snapshots need it. */
static int drop_own_snapshot(struct vfs *v, const struct source *s,
			     int64_t snap, struct err *e)
{
	struct vfs from = {
		.db = v->db, .ns = s->ns, .base_fd = -1, .name = v->name};

	if (!s->own)
		return 0;
	tx_invalidate();
	return tx_refresh(&from, e) ? -1 : snapshot_drop(&from, snap, e);
}

static int set_complete(struct vfs *v, struct err *e)
{
	struct vfs_key set = {.id = v->ns};

	v->source = 0;
	return sql_exec(v->db, Q_VFS_NS_SET_SOURCE, &set, e) < 0 ? -1 : 0;
}

static int read_all(struct vfs *v, struct err *e)
{
	struct vfs_range range = range_of(v->ns);
	struct vfs_number id;
	int found;

	while ((found = sql_get(v->db, Q_VFS_UNREAD_FIRST, &range, &id, NULL,
				e)) > 0)
		if (fill_in(v, id.n & INO_MASK, e))
			return -1;
	return found;
}

/* Another process may have read the rest meanwhile. */
static int refresh_source(struct vfs *v, struct err *e)
{
	struct vfs_key key = {.id = v->ns};
	struct vfs_ns_now_row row = {0};

	if (v->source && sql_get(v->db, Q_VFS_NS_NOW, &key, &row, NULL, e) < 0)
		return -1;
	v->source = row.source_snap;
	return 0;
}

int fork_complete(struct vfs *v, struct err *e)
{
	int64_t snap;
	struct source s;

	if (refresh_source(v, e))
		return -1;
	snap = v->source;
	if (!snap)
		return 0;
	return read_all(v, e) || find_source(v, &s, e) || set_complete(v, e) ||
			       drop_own_snapshot(v, &s, snap, e)
		       ? -1
		       : 0;
}

int fork_complete_from(struct vfs *v, int64_t snap, struct err *e)
{
	struct vfs_key key = {.snap = snap};
	struct vfs_ns_from_row row;
	struct arena mem = {0};
	int found;

	while ((found = sql_get(v->db, Q_VFS_NS_FROM, &key, &row, &mem, e)) >
	       0) {
		struct vfs fork = {.db = v->db,
				   .ns = row.id,
				   .base_fd = -1,
				   .name = arena_text(&mem, row.name),
				   .source = snap};
		int rc = read_all(&fork, e) || set_complete(&fork, e);

		node_refs_fini(&fork.read);
		if (rc) {
			found = -1;
			break;
		}
	}
	arena_fini(&mem);
	return found;
}

int fork_forget_source(struct vfs *v, struct err *e)
{
	struct vfs_range range = range_of(v->ns);
	int64_t snap;
	struct source s;

	if (refresh_source(v, e))
		return -1;
	snap = v->source;
	if (!snap)
		return 0;
	return find_source(v, &s, e) ||
			       sql_exec(v->db, Q_VFS_RANGE_UNREAD_DROP, &range,
					e) < 0 ||
			       set_complete(v, e) ||
			       drop_own_snapshot(v, &s, snap, e)
		       ? -1
		       : 0;
}

int fork_add_usage(struct vfs *v, struct vfs_usage *out, struct err *e)
{
	struct vfs_unread_usage_in in = {0};
	struct vfs_unread_usage_row row;
	struct source s;

	if (refresh_source(v, e))
		return -1;
	if (!v->source)
		return 0;
	if (find_source(v, &s, e))
		return -1;
	in.snap = v->source;
	in.lo = range_of(s.ns).lo;
	in.hi = in.lo + s.next_ino;
	in.by = range_of(v->ns).lo - in.lo;
	if (sql_get(v->db, Q_VFS_UNREAD_USAGE, &in, &row, NULL, e) < 0)
		return -1;
	out->bytes += row.bytes;
	out->files += row.files;
	return 0;
}

int fork_same_unread(struct vfs *a, struct vfs *b, int64_t dir, struct err *e)
{
	int unread;

	if (a->db != b->db || !a->source || a->source != b->source)
		return 0;
	unread = fork_is_unread(a, dir, e);
	return unread > 0 ? fork_is_unread(b, dir, e) : unread;
}
