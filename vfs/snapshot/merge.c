#include "vfs/snapshot/merge.h"

#include "lib/base/text.h"
#include "vfs/core/core.h"
#include "vfs/core/fork_fill.h"
#include "vfs/core/path.h"
#include "vfs/core/xattr_list.h"
#include "vfs/snapshot/conflict.h"
#include "vfs/snapshot/diff_list.h"
#include "vfs/snapshot/snapshot.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct plan {
	struct diff_list d;
	struct diff_source base, fork, parent;
	struct vfs_merge *m;
};

/* The bytes of a file of another database. */
static int copy_content(struct vfs *from, const struct node *n, struct vfs *to,
			struct node *made, struct err *e)
{
	char *room = malloc(VFS_CHUNK);
	int64_t off = 0;
	ssize_t got = 1;
	int rc = 0;

	if (!room)
		abort();
	while (rc == 0 && got > 0) {
		got = data_read(from, n, room, VFS_CHUNK, off, e);
		if (got > 0)
			rc = data_write(to, made, room, (size_t)got, off, e);
		off += got;
	}
	free(room);
	return got < 0 ? -1 : rc;
}

/* Contents that both nodes then share. */
static int share_content(struct vfs *from, const struct node *n, struct vfs *to,
			 struct node *made, struct err *e)
{
	struct vfs_clone_chunks_in chunks = {.id = id_of(from, n->ino),
					     .to = id_of(to, made->ino)};
	struct vfs_key key = {.id = chunks.to};

	if (quota_reserve(to, n->size, 0, e))
		return -1;
	made->size = n->size;
	made->blob = n->blob > 0 ? n->blob : OPT_NONE; /* 0: a hole */
	if (made->blob != OPT_NONE && blob_ref(to, made->blob, e))
		return -1;
	if (n->size <= VFS_CHUNK)
		return 0;
	return sql_exec(to->db, Q_VFS_CLONE_CHUNKS, &chunks, e) < 0 ||
			       sql_exec(to->db, Q_VFS_CLONE_SHARE, &key, e) < 0
		       ? -1
		       : 0;
}

/* A copy of a node in another namespace without attributes; its contents are
 * shared if both are in one file. */
static int node_clone(struct vfs *from, const struct node *n, struct vfs *to,
		      struct vfs_at at, struct err *e)
{
	struct buf target = BUF_MAX(8192);
	struct vfs_new new = {.mode = (mode_t)n->mode,
			      .uid = (uint32_t)n->uid,
			      .gid = (uint32_t)n->gid,
			      .rdev = (uint64_t)n->rdev};
	struct node made;
	int rc = 0;

	if (S_ISLNK(n->mode)) {
		rc = vfs_readlink(from, n->ino, &target, e);
		new.target = target.p;
	}
	if (rc == 0)
		rc = node_make(to, at, &new, &made, e);
	buf_fini(&target);
	if (rc)
		return -1;
	if (S_ISREG(n->mode) &&
	    (from->db == to->db ? share_content(from, n, to, &made, e)
				: copy_content(from, n, to, &made, e)))
		return -1;
	made.mode = n->mode;
	made.gid = n->gid;
	made.modified = n->modified;
	return node_save(to, &made, e);
}

static int copy_xattrs(struct vfs *from, const struct node *n, struct vfs *to,
		       int64_t ino, struct err *e)
{
	struct buf list = BUF_MAX((size_t)16 << 20);
	int rc = xattrs_of_node(from, n, false, &list, e);

	if (rc == 0)
		rc = xattrs_to_node(to, ino, &list, e);
	buf_fini(&list);
	return rc;
}

int node_copy(struct vfs *from, const struct node *n, struct vfs *to,
	      struct vfs_at at, struct err *e)
{
	struct node made;

	if (node_clone(from, n, to, at, e))
		return -1;
	if (!(n->flags & NODE_XATTR))
		return 0;
	return node_lookup(to, at, &made, e) ||
			       copy_xattrs(from, n, to, made.ino, e)
		       ? -1
		       : 0;
}

static int set_meta(struct plan *p, const char *path,
		    const struct vfs_attr *want, struct err *e)
{
	struct vfs *to = p->parent.v;
	struct node n;
	struct vfs_set set = {.what = VFS_SET_MODE | VFS_SET_UID | VFS_SET_GID,
			      .mode = want->mode & 07777,
			      .uid = want->uid,
			      .gid = want->gid};
	struct vfs_attr a;

	if (vfs_walk(to, path, VFS_NOFOLLOW, &a, e) ||
	    vfs_setattr(to, a.ino, &set, &a, e) ||
	    node_get(p->fork.v, want->ino, &n, e))
		return -1;
	return copy_xattrs(p->fork.v, &n, to, a.ino, e);
}

/* Deletes the node at the path; a directory only if it is empty. */
static int clear_path(struct vfs *to, const char *path, bool keep_dir,
		      struct err *e)
{
	struct vfs_attr a;
	struct diff_source s = {.v = to};
	int there = diff_source_attr(&s, path, &a, e);

	if (there <= 0)
		return there;
	if (S_ISDIR(a.mode) && keep_dir)
		return 0;
	return vfs_remove(to, path, false, e);
}

static int merge_change(struct plan *p, const struct vfs_difference *d,
			struct err *e)
{
	struct vfs *to = p->parent.v, *from = p->fork.v;
	bool dir = S_ISDIR(d->b.mode);
	struct vfs_place at;
	struct node n;

	if (d->kind == VFS_REMOVED)
		return clear_path(to, d->path, false, e);
	if (d->kind == VFS_MODE)
		return set_meta(p, d->path, &d->b, e);
	if (clear_path(to, d->path, dir, e) ||
	    vfs_walk_place(to, d->path, &at, e) ||
	    node_get(from, d->b.ino, &n, e))
		return -1;
	/* the parent may show another host file there, or none */
	if (n.lower_size != OPT_NONE && data_keep_lower(from, &n, e))
		return -1;
	if (dir && vfs_mkdir(to, d->path, d->b.mode & 07777, true, e))
		return -1;
	return dir ? set_meta(p, d->path, &d->b, e)
		   : node_copy(from, &n, to, (struct vfs_at){at.dir, at.name},
			       e);
}

/* 1: apply it, 0: nothing to do, -1. Counts conflicts. */
static int classify_change(struct plan *p, const struct vfs_difference *d,
			   struct err *e)
{
	int untouched = diff_source_same_at(&p->base, &p->parent, d->path, e);
	int agreed = untouched ? untouched
			       : diff_source_same_at(&p->fork, &p->parent,
						     d->path, e);

	if (untouched < 0 || agreed < 0)
		return -1;
	if (untouched)
		return 1;
	if (agreed && !S_ISDIR(d->b.mode))
		return 0;
	if (agreed)
		return 1;
	return conflict_decide(p->m, d) == VFS_STRATEGY_FORK;
}

/* Everything is examined before anything is applied. */
static int carry_out(struct plan *p, struct err *e)
{
	for (size_t i = 0; i < p->d.n; i++) {
		p->d.decision[i] = classify_change(p, &p->d.list[i], e);
		if (p->d.decision[i] < 0)
			return -1;
	}
	if (p->m->unresolved)
		return err_set(e, ERR_CONFLICT,
			       "%lld %s changed on both sides, so nothing was "
			       "merged; " VFS_RESOLVE,
			       (long long)p->m->unresolved,
			       text_plural(p->m->unresolved, "path", "paths"));
	for (size_t i = 0; i < p->d.n; i++) {
		if (!p->d.decision[i])
			continue;
		if (merge_change(p, &p->d.list[i], e))
			return -1;
		p->m->applied++;
		if (p->m->report)
			p->m->report(p->m->arg, &p->d.list[i], false);
	}
	return 0;
}

static int merge_in(struct vfs *parent, struct plan *p, struct err *e)
{
	struct vfs *fork = p->fork.v;
	struct vfs_at at = {0, fork->name};

	if (vfs_diff(&p->base, &p->fork, diff_list_add, &p->d, e) ||
	    carry_out(p, e) || fork_complete(fork, e))
		return -1;
	/* from here on the fork's base is its current state */
	if (snapshot_drop(fork, p->base.v->snap, e) ||
	    snapshot_add(fork, VFS_FORK_POINT, true, e))
		return -1;
	return journal_add(parent, VFS_OP_merge, at, 0, e);
}

static int open_parent(struct vfs *fork, struct vfs **out, struct err *e)
{
	struct vfs_key key = {.text = fork->name};
	struct arena mem = {0};
	struct vfs_ns_row *rows, self = {0};
	const char *name = NULL;
	int n, rc;

	rc = sql_get(fork->db, Q_VFS_NS_FIND, &key, &self, &mem, e);
	n = rc < 0 ? -1
		   : sql_collect(fork->db, Q_VFS_NS_LIST, NULL, INT32_MAX,
				 &rows, &mem, e);
	for (int i = 0; i < n; i++)
		if (rows[i].id == self.parent)
			name = rows[i].name;
	if (n >= 0 && !name)
		err_set(e, ERR_NOTFOUND,
			"namespace '%s' is not a fork, or its parent was "
			"deleted",
			fork->name);
	rc = name ? vfs_open(out, fork->db, name, fork->who, e) : -1;
	arena_fini(&mem);
	return rc;
}

/* Fork and parent share one transaction of their connection. */
static int merge_both(struct plan *p, struct vfs *fork, struct err *e)
{
	struct vfs *parent = p->parent.v;
	int rc;

	if (tx_begin(parent, e))
		return -1;
	fork->inside = p->base.v->inside = parent->inside = true;
	rc = tx_refresh(fork, e);
	if (rc == 0)
		rc = merge_in(parent, p, e);
	fork->inside = parent->inside = false;
	return tx_end(parent, rc, e);
}

/* *base becomes the fork as it was at its start. */
static int open_base(struct vfs *fork, struct vfs *base, struct plan *p,
		     struct err *e)
{
	struct vfs_snap_find_row point;

	p->m->applied = p->m->conflicts = p->m->unresolved = 0;
	if (fork->snap)
		return err_set(e, ERR_READONLY, "a snapshot cannot be merged");
	if (snapshot_find(fork, VFS_FORK_POINT, &point, e))
		return err_set(e, ERR_USAGE, "namespace '%s' is not a fork",
			       fork->name);
	*base = *fork;
	base->snap = point.id;
	base->snap_next_ino = point.next_ino;
	base->read = (struct node_refs){0};
	p->base.v = base;
	return 0;
}

static int merge_from_file(struct vfs *parent, struct plan *p, struct err *e)
{
	struct vfs_at at = {0, p->fork.v->name};

	return vfs_diff(&p->base, &p->fork, diff_list_add, &p->d, e) ||
			       carry_out(p, e) ||
			       journal_add(parent, VFS_OP_merge, at, 0, e)
		       ? -1
		       : 0;
}

/* The fork is read in one transaction of its file, the parent is changed in one
 * of its own. The fork keeps its base: a second merge finds both sides equal. */
static int merge_both_files(struct plan *p, struct vfs *fork, struct err *e)
{
	struct vfs *parent = p->parent.v;
	int rc;

	if (tx_begin(parent, e))
		return -1;
	rc = sql_enter(fork->db, e); /* a directory may have to be read first */
	if (rc == 0) {
		fork->inside = p->base.v->inside = parent->inside = true;
		rc = tx_refresh(fork, e) ? -1 : merge_from_file(parent, p, e);
		fork->inside = parent->inside = false;
		rc = sql_leave(fork->db, rc, e);
	}
	return tx_end(parent, rc, e);
}

int vfs_merge_across(struct vfs *fork, struct vfs *parent, struct vfs_merge *m,
		     struct err *e)
{
	struct plan p = {.m = m, .fork = {.v = fork}, .parent = {.v = parent}};
	struct vfs base;
	int rc;

	if (open_base(fork, &base, &p, e))
		return -1;
	sql_bulk_begin(parent->db);
	rc = merge_both_files(&p, fork, e);
	sql_bulk_end(parent->db);
	node_refs_fini(&base.read);
	diff_list_fini(&p.d);
	return rc;
}

int vfs_merge(struct vfs *fork, struct vfs_merge *m, struct err *e)
{
	struct plan p = {.m = m, .fork = {.v = fork}};
	struct vfs base;
	int rc;

	if (open_base(fork, &base, &p, e))
		return -1;
	if (open_parent(fork, &p.parent.v, e))
		return -1;
	sql_bulk_begin(fork->db);
	rc = merge_both(&p, fork, e);
	sql_bulk_end(fork->db);
	vfs_close(p.parent.v);
	node_refs_fini(&base.read);
	diff_list_fini(&p.d);
	return rc;
}
