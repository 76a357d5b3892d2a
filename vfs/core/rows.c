#include "vfs/core/rows.h"
#include "vfs/core/core.h"

#include "lib/base/clock.h"

#include <assert.h>
#include <string.h>
#include <sys/stat.h>

/* Whether the newest snapshot has this node, so that its before-image must be
 * kept. A node that is newer than the snapshot has none. */
static bool is_old(const struct vfs *v, int64_t ino)
{
	return v->keep && ino < v->keep_next_ino;
}

/* Before every change of a node's row, names or contents. */
static void track(struct vfs *v, int64_t ino)
{
	if (v->tracks && !node_refs_count(&v->changed, ino))
		node_refs_add(&v->changed, ino, 1);
}

static void node_from_row(const struct vfs_inode_row *row, struct node *out)
{
	size_t n = row->name.n < VFS_NAME_MAX ? row->name.n : VFS_NAME_MAX;

	out->ino = row->id & INO_MASK;
	out->mode = row->mode;
	out->nlink = row->nlink;
	out->uid = row->uid;
	out->gid = row->gid;
	out->size = row->size;
	out->accessed = row->accessed;
	out->modified = row->modified;
	out->changed = row->changed;
	out->created = row->created;
	out->rdev = row->rdev;
	out->flags = row->flags;
	out->parent = row->parent;
	out->blob = row->blob;
	out->lower_size = row->lower_size;
	if (n)
		memcpy(out->name, row->name.p, n);
	out->name[n] = '\0';
}

int node_find(struct vfs *v, int64_t ino, struct node *out, struct err *e)
{
	struct vfs_key key = {.id = id_of(v, ino), .snap = v->snap};
	const struct node *known = node_cache_on(v) ? node_cache_find(v, ino)
						    : NULL;
	struct sql_rows it;
	struct vfs_inode_row row;
	bool found;

	if (known) {
		*out = *known;
		return 1;
	}
	if (v->snap && ino >= v->snap_next_ino)
		return 0;
	it = sql_rows(v->db, v->snap ? Q_VFS_INODE_AT : Q_VFS_INODE_GET, &key);
	found = sql_next(&it, &row);
	if (found)
		node_from_row(&row, out);
	if (sql_end(&it, e))
		return -1;
	if (found && node_cache_on(v) && node_cache_put(v, out, false, e))
		return -1;
	return found;
}

int node_get(struct vfs *v, int64_t ino, struct node *out, struct err *e)
{
	int found = node_find(v, ino, out, e);

	if (found)
		return found < 0 ? -1 : 0;
	return err_set(e, ERR_NOTFOUND, "node %lld does not exist",
		       (long long)ino);
}

int node_save_undo(struct vfs *v, const struct node *n, struct err *e)
{
	struct vfs_key key = {.id = id_of(v, n->ino), .snap = v->keep};
	int kept;

	if (!is_old(v, n->ino))
		return 0;
	kept = sql_exec(v->db, Q_VFS_UNDO_INODE, &key, e);
	if (kept > 0 && n->blob != OPT_NONE)
		return blob_ref(v, n->blob, e);
	return kept < 0 ? -1 : 0;
}

/* Numbers only grow, as far as existing rows show. */
int ino_peek(struct vfs *v, int64_t *out, struct err *e)
{
	struct vfs_range range = range_of(v->ns);
	struct vfs_number max;

	if (v->next_ino == 0) {
		if (v->base)
			range.lo += INO_OWN;
		/* the record of a host file is kept after its deletion */
		if (sql_get(v->db, v->base ? Q_VFS_LOWER_MAX : Q_VFS_INODE_MAX,
			    &range, &max, NULL, e) < 0)
			return -1;
		v->next_ino = (max.n & INO_MASK) + 1;
		if (v->next_ino < v->keep_next_ino)
			v->next_ino = v->keep_next_ino;
	}
	*out = v->next_ino;
	return 0;
}

/* Snapshots may have been taken before: a number that one of them uses is not
 * free. The record of a host file is kept after its deletion. */
static int new_lower_ino(struct vfs *v, int64_t *out, struct err *e)
{
	struct vfs_range range = range_of(v->ns);
	struct vfs_number max;

	range.hi = range.lo + INO_OWN;
	if (v->next_lower == 0) {
		if (sql_get(v->db, Q_VFS_LOWER_MAX, &range, &max, NULL, e) < 0)
			return -1;
		v->next_lower = (max.n & INO_MASK) + 1;
	}
	*out = v->next_lower++;
	if (*out >= INO_OWN)
		return err_set(e, ERR_FULL,
			       "the namespace has no inode numbers left");
	return 0;
}

static int new_ino(struct vfs *v, int64_t *out, struct err *e)
{
	if (v->filling)
		return new_lower_ino(v, out, e);
	if (ino_peek(v, out, e))
		return -1;
	if (v->next_ino++ > INO_MASK)
		return err_set(e, ERR_FULL,
			       "the namespace has no inode numbers left");
	return 0;
}

int node_add(struct vfs *v, struct node *n, const char *target, struct err *e)
{
	struct vfs_inode_new row;

	if (new_ino(v, &n->ino, e))
		return -1;
	track(v, n->ino);
	row = (struct vfs_inode_new){
		.id = id_of(v, n->ino),
		.mode = n->mode,
		.nlink = n->nlink,
		.uid = n->uid,
		.gid = n->gid,
		.size = n->size,
		.accessed = n->accessed,
		.modified = n->modified,
		.changed = n->changed,
		.created = n->created,
		.rdev = n->rdev,
		.flags = n->flags,
		.parent = n->parent,
		.name = blob_text(n->name),
		.blob = n->blob,
		.lower_size = n->lower_size,
		.target = {target, target ? strlen(target) : 0},
	};
	if (sql_exec(v->db, Q_VFS_INODE_ADD, &row, e) < 0)
		return -1;
	return node_cache_on(v) ? node_cache_put(v, n, false, e) : 0;
}

int node_save(struct vfs *v, const struct node *n, struct err *e)
{
	track(v, n->ino);
	return node_cache_on(v) ? node_cache_put(v, n, true, e)
				: node_store(v, n, e);
}

int node_store(struct vfs *v, const struct node *n, struct err *e)
{
	struct vfs_inode_row row = {
		.id = id_of(v, n->ino),
		.mode = n->mode,
		.nlink = n->nlink,
		.uid = n->uid,
		.gid = n->gid,
		.size = n->size,
		.accessed = n->accessed,
		.modified = n->modified,
		.changed = n->changed,
		.flags = n->flags,
		.parent = n->parent,
		.name = blob_text(n->name),
		.blob = n->blob,
		.lower_size = n->lower_size,
	};

	return sql_exec(v->db, Q_VFS_INODE_SAVE, &row, e) < 0 ? -1 : 0;
}

int node_drop(struct vfs *v, struct node *n, struct err *e)
{
	struct vfs_key key = {.id = id_of(v, n->ino)};

	track(v, n->ino);
	if (node_save_undo(v, n, e) || data_drop(v, n, e) ||
	    xattr_drop_all(v, n, e))
		return -1;
	if (!(n->flags & NODE_HOSTS) && quota_reserve(v, -n->size, -1, e))
		return -1;
	node_cache_drop(v, n->ino);
	return sql_exec(v->db, Q_VFS_INODE_DROP, &key, e) < 0 ? -1 : 0;
}

/* Strictly later than before, so that `changed` identifies one state of a
 * node. */
void node_touch(struct node *n, bool content)
{
	int64_t now = clock_now_ns();

	n->changed = now > n->changed ? now : n->changed + 1;
	if (content)
		n->modified = n->changed;
}

void node_attr(const struct node *n, struct vfs_attr *out)
{
	*out = (struct vfs_attr){
		.ino = n->ino,
		.mode = (mode_t)n->mode,
		.nlink = (uint32_t)n->nlink,
		.uid = (uint32_t)n->uid,
		.gid = (uint32_t)n->gid,
		.rdev = (uint64_t)n->rdev,
		.size = n->size,
		.accessed = n->accessed,
		.modified = n->modified,
		.changed = n->changed,
		.created = n->created,
	};
}

int node_child(struct vfs *v, struct vfs_at at, struct node *out, struct err *e)
{
	struct vfs_key key = {.id = id_of(v, at.dir),
			      .name = blob_text(at.name)};
	struct vfs_inode_row row;
	struct sql_rows it;
	int64_t ino;
	int found;

	if (v->snap || node_cache_on(v)) {
		found = dentry_get(v, at, &ino, NULL, e);
		return found > 0 ? (node_get(v, ino, out, e) ? -1 : 1) : found;
	}
	it = sql_rows(v->db, Q_VFS_CHILD, &key);
	found = sql_next(&it, &row);
	if (found)
		node_from_row(&row, out);
	return sql_end(&it, e) ? -1 : found;
}

int dentry_get(struct vfs *v, struct vfs_at at, int64_t *ino, unsigned *type,
	       struct err *e)
{
	struct vfs_key key = {.id = id_of(v, at.dir),
			      .snap = v->snap,
			      .name = blob_text(at.name)};
	struct vfs_dentry_get_row row = {0};
	int found = 0;

	if (!node_cache_on(v) || !node_cache_is_missing(v, at))
		found = sql_get(v->db,
				v->snap ? Q_VFS_DENTRY_AT : Q_VFS_DENTRY_GET,
				&key, &row, NULL, e);
	if (found == 0 && node_cache_on(v))
		node_cache_missing(v, at);
	*ino = row.ino;
	if (type)
		*type = (unsigned)row.type;
	return found > 0 ? row.ino > 0 : found;
}

static int dentry_save_undo(struct vfs *v, struct vfs_at at, int64_t ino,
			    int64_t type, struct err *e)
{
	struct vfs_key key = {.id = id_of(v, at.dir),
			      .snap = v->keep,
			      .name = blob_text(at.name),
			      .ino = ino,
			      .type = type};

	if (!is_old(v, at.dir))
		return 0;
	return sql_exec(v->db, Q_VFS_UNDO_DENTRY, &key, e) < 0 ? -1 : 0;
}

int dentry_put(struct vfs *v, struct vfs_at at, const struct node *n,
	       struct err *e)
{
	struct vfs_key key = {.id = id_of(v, at.dir),
			      .name = blob_text(at.name),
			      .ino = n->ino,
			      .type = n->mode >> 12};

	v->node_cache.missing.dir = 0;
	track(v, at.dir);
	if (dentry_save_undo(v, at, 0, 0, e))
		return -1;
	return sql_exec(v->db, Q_VFS_DENTRY_ADD, &key, e) < 0 ? -1 : 0;
}

int dentry_drop(struct vfs *v, struct vfs_at at, const struct node *n,
		struct err *e)
{
	struct vfs_key key = {.id = id_of(v, at.dir),
			      .name = blob_text(at.name)};

	track(v, at.dir);
	if (dentry_save_undo(v, at, n->ino, n->mode >> 12, e))
		return -1;
	return sql_exec(v->db, Q_VFS_DENTRY_DROP, &key, e) < 0 ? -1 : 0;
}

int dentry_any(struct vfs *v, int64_t dir, struct err *e)
{
	struct vfs_key key = {.id = id_of(v, dir)};
	struct vfs_number one;

	return sql_get(v->db, Q_VFS_DENTRY_ANY, &key, &one, NULL, e);
}

int chunk_get(struct vfs *v, const struct node *n, int64_t idx, int64_t *blob,
	      struct err *e)
{
	struct vfs_key key = {
		.id = id_of(v, n->ino), .idx = idx, .snap = v->snap};
	struct vfs_chunk_get_row row = {.blob = OPT_NONE};

	if (idx > 0 &&
	    sql_get(v->db, v->snap ? Q_VFS_CHUNK_AT : Q_VFS_CHUNK_GET, &key,
		    &row, NULL, e) < 0)
		return -1;
	*blob = idx > 0 ? row.blob : n->blob;
	return 0;
}

static int chunk_undo_row(struct vfs *v, const struct node *n, int64_t idx,
			  int64_t blob, struct err *e)
{
	struct vfs_key key = {.id = id_of(v, n->ino),
			      .idx = idx,
			      .snap = v->keep,
			      .blob = blob};
	int kept;

	if (!is_old(v, n->ino))
		return 0;
	kept = sql_exec(v->db, Q_VFS_UNDO_CHUNK, &key, e);
	if (kept > 0 && blob != OPT_NONE)
		return blob_ref(v, blob, e);
	return kept < 0 ? -1 : 0;
}

int chunk_save_undo(struct vfs *v, const struct node *n, int64_t idx,
		    int64_t blob, struct err *e)
{
	track(v, n->ino);
	return idx > 0 ? chunk_undo_row(v, n, idx, blob, e) : 0;
}

int chunk_set(struct vfs *v, struct node *n, int64_t idx, int64_t blob,
	      struct err *e)
{
	struct vfs_key key = {.id = id_of(v, n->ino), .idx = idx, .blob = blob};
	int64_t old;

	if (chunk_get(v, n, idx, &old, e) || chunk_save_undo(v, n, idx, old, e))
		return -1;
	if (old != OPT_NONE && old != blob && blob_unref(v, old, e))
		return -1;
	if (idx == 0) {
		n->blob = blob;
		return 0;
	}
	return sql_exec(v->db,
			blob == OPT_NONE ? Q_VFS_CHUNK_DROP : Q_VFS_CHUNK_PUT,
			&key, e) < 0
		       ? -1
		       : 0;
}
