#include "vfs/snapshot/merge.h"

#include "lib/base/text.h"
#include "vfs/core/core.h"
#include "vfs/core/path.h"
#include "vfs/core/visit.h"
#include "vfs/core/xattr_list.h"

#include <string.h>
#include <sys/stat.h>

struct copy {
	struct vfs *v;
	const char *from, *to;
	bool recursive;
	int64_t top; /* the new tree, which is not copied into itself */
};

static int copy_xattrs(struct copy *c, const struct node *n, int64_t to,
		       struct err *e)
{
	struct buf list = BUF_MAX((size_t)16 << 20);
	int rc = xattrs_of_node(c->v, n, false, &list, e);

	if (rc == 0)
		rc = xattrs_to_node(c->v, to, &list, e);
	buf_fini(&list);
	return rc;
}

/* Bytes that are still in a host file must be read. */
static int copy_bytes(struct copy *c, const struct node *n, struct vfs_at at,
		      struct err *e)
{
	struct vfs_new new = {.mode = (mode_t)n->mode,
			      .uid = (uint32_t)n->uid,
			      .gid = (uint32_t)n->gid};
	struct node made;
	int64_t off = 0;
	ssize_t got;

	if (node_make(c->v, at, &new, &made, e))
		return -1;
	while ((got = data_read(c->v, n, c->v->packed, VFS_CHUNK, off, e)) >
	       0) {
		/* writing uses that buffer, too */
		memcpy(c->v->chunk, c->v->packed, (size_t)got);
		if (vfs_pwrite(c->v, made.ino, c->v->chunk, (size_t)got, off,
			       e))
			return -1;
		off += got;
	}
	return got < 0 || !(n->flags & NODE_XATTR)
		       ? (int)got
		       : copy_xattrs(c, n, made.ino, e);
}

static int copy_one(void *arg, const struct vfs_found *f, struct err *e)
{
	struct copy *c = arg;
	struct buf path = BUF_MAX(1 << 20);
	struct vfs_place at;
	struct vfs_at here;
	struct node n;
	int rc;

	if (f->attr.ino == c->top)
		return 1;
	if (S_ISDIR(f->attr.mode) && !c->recursive)
		return err_set(e, ERR_ISDIR,
			       "%s is a directory; copy it with --recursive",
			       quoted(c->from).text);
	buf_addf(&path, "%s%s%s", c->to, *f->path ? "/" : "", f->path);
	rc = vfs_walk_place(c->v, path.p, &at, e);
	buf_fini(&path);
	here = (struct vfs_at){at.dir, at.name};
	if (rc || node_get(c->v, f->attr.ino, &n, e))
		return -1;
	rc = n.lower_size == OPT_NONE ? node_copy(c->v, &n, c->v, here, e)
				      : copy_bytes(c, &n, here, e);
	if (rc == 0 && !*f->path && !node_lookup(c->v, here, &n, e))
		c->top = n.ino;
	return rc;
}

static int copy_in(struct vfs *v, const void *arg, struct err *e)
{
	struct copy c = *(const struct copy *)arg;

	return vfs_visit(v, c.from, copy_one, &c, e);
}

int vfs_copy(struct vfs *v, const char *from, const char *to, bool recursive,
	     struct err *e)
{
	struct copy c = {v, from, to, recursive, 0};
	int rc;

	if (!recursive)
		return tx_many(v, copy_in, &c, e);
	sql_bulk_begin(v->db);
	rc = tx_many(v, copy_in, &c, e);
	sql_bulk_end(v->db);
	return rc;
}
