#include "vfs/core/core.h"

#include "vfs/core/path.h"

#include "lib/base/text.h"

#include <sys/stat.h>

/* Whole trees: deleting them, and finding the path of a node. */

int within_itself(int64_t dir, struct err *e)
{
	return err_set(e, ERR_CORRUPT,
		       "directory %lld contains itself; run 'skep "
		       "vfs fsck'",
		       (long long)dir);
}

/* Deletes the entries of a directory, depth first, without recursion: `dir` is
 * always the parent of an empty directory or a directory that is being
 * emptied. */
static int empty_dir(struct vfs *v, int64_t top, struct err *e)
{
	int64_t dir = top, above = 0; /* where we came down from */

	for (;;) {
		struct vfs_key key = {.id = id_of(v, dir)};
		struct vfs_dentry_first_row first;
		struct arena mem = {0};
		struct node n;
		int found, rc = 0;

		if (dir_get(v, dir, &n, e))
			return -1;
		if (above && (n.parent != above || dir == top))
			return within_itself(dir, e);
		above = 0;
		found = sql_get(v->db, Q_VFS_DENTRY_FIRST, &key, &first, &mem,
				e);
		if (found == 0 && dir != top)
			rc = vfs_rmdir(v, (struct vfs_at){n.parent, n.name}, e);
		if (found > 0 && first.type != S_IFDIR >> 12)
			rc = vfs_unlink(
				v,
				(struct vfs_at){dir,
						arena_textn(&mem, first.name.p,
							    first.name.n)},
				e);
		arena_fini(&mem);
		if (found < 0 || rc)
			return -1;
		if (found == 0 && dir == top)
			return 0;
		if (found == 0)
			dir = n.parent;
		else if (first.type == S_IFDIR >> 12) {
			above = dir;
			dir = first.ino;
		}
	}
}

static int remove_at(struct vfs *v, struct vfs_at at, bool recursive,
		     struct err *e)
{
	struct node n;

	if (node_lookup(v, at, &n, e))
		return -1;
	if (!S_ISDIR(n.mode))
		return node_remove(v, at, &n, false, e);
	if (recursive && (empty_dir(v, n.ino, e) || node_lookup(v, at, &n, e)))
		return -1;
	return node_remove(v, at, &n, true, e);
}

struct channel_deletion {
	const char *path;
	bool recursive;
};

static int remove_in(struct vfs *v, const void *arg, struct err *e)
{
	const struct channel_deletion *r = arg;
	struct vfs_place at;

	if (vfs_walk_place(v, r->path, &at, e))
		return -1;
	return remove_at(v, (struct vfs_at){at.dir, at.name}, r->recursive, e);
}

int vfs_remove(struct vfs *v, const char *path, bool recursive, struct err *e)
{
	struct channel_deletion r = {path, recursive};
	int rc;

	if (!recursive)
		return tx_many(v, remove_in, &r, e);
	sql_bulk_begin(v->db);
	rc = tx_many(v, remove_in, &r, e);
	sql_bulk_end(v->db);
	return rc;
}

/* The path of a node, if its own record of that is out of date. */
static int find_link(struct vfs *v, struct node *n, struct err *e)
{
	struct vfs_range r = range_of(v->ns);
	struct vfs_dentry_of_in key = {r.lo, r.hi, n->ino};
	struct vfs_dentry_of_row row;
	struct arena mem = {0};
	int found = sql_get(v->db, Q_VFS_DENTRY_OF, &key, &row, &mem, e);

	if (found > 0)
		node_place(n, (struct vfs_at){row.dir & INO_MASK,
					      arena_textn(&mem, row.name.p,
							  row.name.n)});
	arena_fini(&mem);
	if (found == 0)
		return err_set(e, ERR_NOTFOUND, "node %lld has no name",
			       (long long)n->ino);
	return found < 0 ? -1 : 0;
}

static int path_in(struct vfs *v, int64_t ino, struct buf *out, struct err *e)
{
	struct buf tail = BUF_MAX(1 << 20);
	int rc = 0;

	while (rc == 0 && ino != VFS_ROOT) {
		struct node n;
		int64_t there;

		rc = node_get(v, ino, &n, e);
		if (rc == 0 && (dentry_get(v, (struct vfs_at){n.parent, n.name},
					   &there, NULL, e) <= 0 ||
				there != ino))
			rc = find_link(v, &n, e);
		if (rc)
			break;
		buf_clear(out);
		buf_adds(out, n.name);
		if (tail.n)
			buf_addf(out, "/%s", tail.p);
		buf_clear(&tail);
		buf_add(&tail, out->p, out->n);
		rc = buf_ok(&tail, "the path", e);
		ino = n.parent;
	}
	buf_fini(&tail);
	return rc ? rc : buf_ok(out, "the path", e);
}

int vfs_path_of(struct vfs *v, int64_t ino, struct buf *out, struct err *e)
{
	buf_clear(out);
	if (tx_read(v, e))
		return -1;
	return tx_read_end(v, path_in(v, ino, out, e));
}
