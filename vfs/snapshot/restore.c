#include "vfs/snapshot/restore.h"

#include "lib/base/text.h"
#include "vfs/core/core.h"
#include "vfs/core/lower.h"
#include "vfs/core/path.h"
#include "vfs/core/xattr_list.h"
#include "vfs/snapshot/conflict.h"
#include "vfs/snapshot/diff_list.h"
#include "vfs/snapshot/snapshot.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct twin {
	int64_t old, new; /* numbers of nodes */
};

struct work {
	struct vfs_restore *r;
	struct vfs *v;   /* the live tree */
	struct vfs to;   /* the same namespace at the snapshot */
	struct vfs from; /* .snap 0: the live tree */
	struct diff_list d;
	struct twin *made; /* nodes that had been deleted and were made again */
	size_t n, cap;
};

/* --- one node ------------------------------------------------------------ */

/* Gives up the contents and attributes that the live node has. */
static int empty_node(struct vfs *v, struct node *n, struct err *e)
{
	return node_save_undo(v, n, e) || data_drop(v, n, e) ||
			       xattr_drop_all(v, n, e)
		       ? -1
		       : 0;
}

/* The chunks that the node `old` has in the snapshot; chunk 0 is in its row. */
static int restore_chunks(struct work *w, int64_t old, struct node *n,
			  struct err *e)
{
	struct vfs_range r = {.lo = id_of(w->v, old),
			      .hi = id_of(w->v, old) + 1,
			      .snap = w->to.snap};
	struct vfs_view_chunks_row *rows;
	struct arena mem = {0};
	int count = sql_collect(w->v->db, Q_VFS_VIEW_CHUNKS, &r, INT32_MAX,
				&rows, &mem, e);
	int rc = count < 0 ? -1 : 0;

	for (int i = 0; rc == 0 && i < count; i++)
		rc = (rows[i].blob > 0 && blob_ref(w->v, rows[i].blob, e)) ||
				     chunk_set(w->v, n, rows[i].idx,
					       rows[i].blob, e)
			     ? -1
			     : 0;
	arena_fini(&mem);
	return rc;
}

static int restore_xattrs(struct work *w, const struct node *old, int64_t ino,
			  struct err *e)
{
	struct buf list = BUF_MAX((size_t)16 << 20);
	int rc = 0;

	if (old->flags & NODE_XATTR) {
		rc = xattrs_of_node(&w->to, old, false, &list, e);
		if (rc == 0)
			rc = xattrs_to_node(w->v, ino, &list, e);
	}
	buf_fini(&list);
	return rc;
}

/* A file that is as on the host is not in the quota. */
static int restore_quota(struct vfs *v, const struct node *now,
			 const struct node *old, struct err *e)
{
	bool counted = !(now->flags & NODE_HOSTS);
	bool counts = !(old->flags & NODE_HOSTS);

	return quota_reserve(
		v, (counts ? old->size : 0) - (counted ? now->size : 0),
		counts - counted, e);
}

/* Everything but the names: contents, mode, owner, times, attributes. `n` is the
 * live node without contents, `old` the node in the snapshot. */
static int restore_properties(struct work *w, struct node *n,
			      const struct node *old, struct err *e)
{
	if (restore_quota(w->v, n, old, e))
		return -1;
	n->mode = old->mode;
	n->uid = old->uid;
	n->gid = old->gid;
	n->size = old->size;
	n->modified = old->modified;
	n->blob = old->blob;
	n->lower_size = old->lower_size;
	n->flags = (n->flags & NODE_UNSEEN) | (old->flags & NODE_HOSTS);
	node_touch(n, false);
	if (n->blob > 0 && blob_ref(w->v, n->blob, e))
		return -1;
	return restore_chunks(w, old->ino, n, e) || node_save(w->v, n, e) ||
			       restore_xattrs(w, old, n->ino, e)
		       ? -1
		       : 0;
}

/* The node exists in the live tree, too. */
static int restore_in_place(struct work *w, int64_t ino, struct err *e)
{
	struct node now, old;

	if (node_get(w->v, ino, &now, e) || node_get(&w->to, ino, &old, e))
		return -1;
	if (now.changed == old.changed)
		return 0;
	return empty_node(w->v, &now, e) || restore_properties(w, &now, &old, e)
		       ? -1
		       : journal_node(w->v, VFS_OP_write, &now, e);
}

/* --- names --------------------------------------------------------------- */

static void note_made(struct work *w, int64_t old, int64_t new)
{
	if (w->n == w->cap) {
		w->cap = w->cap ? w->cap * 2 : 64;
		w->made = realloc(w->made, w->cap * sizeof *w->made);
		if (!w->made)
			abort();
	}
	w->made[w->n++] = (struct twin){old, new};
}

static int64_t made_for(const struct work *w, int64_t old)
{
	for (size_t i = 0; i < w->n; i++)
		if (w->made[i].old == old)
			return w->made[i].new;
	return 0;
}

/* A new node with the properties of one that no longer exists. It has
 * another number: newer snapshots do not have it. */
static int make_again(struct work *w, const struct node *old, struct vfs_at at,
		      struct err *e)
{
	struct vfs_lower_clone_in lower = {.id = id_of(w->v, old->ino)};
	struct buf target = BUF_MAX(8192);
	struct vfs_new new = {.mode = (mode_t)old->mode,
			      .uid = (uint32_t)old->uid,
			      .gid = (uint32_t)old->gid,
			      .rdev = (uint64_t)old->rdev};
	struct node n;
	int rc = S_ISLNK(old->mode) ? vfs_readlink(&w->to, old->ino, &target, e)
				    : 0;

	new.target = target.p;
	if (rc == 0)
		rc = node_make(w->v, at, &new, &n, e);
	buf_fini(&target);
	lower.to = rc == 0 ? id_of(w->v, n.ino) : 0;
	if (rc ||
	    (old->lower_size != OPT_NONE &&
	     sql_exec(w->v->db, Q_VFS_LOWER_CLONE, &lower, e) < 0) ||
	    restore_properties(w, &n, old, e))
		return -1;
	if (old->nlink > 1 && !S_ISDIR(old->mode))
		note_made(w, old->ino, n.ino);
	return journal_add(w->v, VFS_OP_create, at, n.ino, e);
}

/* The live node for a node of the snapshot, or 0. A node that keeps one of its
 * names is not replaced. */
static int live_node(const struct work *w, const struct node *old, int64_t *ino,
		     struct err *e)
{
	struct node now;
	int found;

	*ino = made_for(w, old->ino);
	if (*ino || S_ISDIR(old->mode) || (w->r->wants && old->nlink == 1))
		return 0;
	found = node_find(w->v, old->ino, &now, e);
	if (found > 0 && now.nlink > 0)
		*ino = old->ino;
	return found < 0 ? -1 : 0;
}

static int restore_name(struct work *w, const char *path, int64_t old_ino,
			struct err *e)
{
	struct vfs_place place;
	struct vfs_attr linked;
	struct node old;
	struct vfs_at at;
	int64_t ino;

	if (vfs_walk_place(w->v, path, &place, e) ||
	    node_get(&w->to, old_ino, &old, e) || live_node(w, &old, &ino, e))
		return -1;
	at = (struct vfs_at){place.dir, place.name};
	if (!ino)
		return make_again(w, &old, at, e);
	if (vfs_link(w->v, ino, at, &linked, e))
		return -1;
	return ino == old_ino ? restore_in_place(w, ino, e) : 0;
}

/* A directory with entries that stay is kept. */
static int remove_path(struct vfs *v, const char *path, struct err *e)
{
	if (vfs_remove(v, path, false, e) == 0)
		return 0;
	return e->code == ERR_NOTEMPTY || e->code == ERR_NOTFOUND ? 0 : -1;
}

/* The path as it is now: 1, 0 if it does not exist, -1. */
static int live_attr(struct work *w, const char *path, struct vfs_attr *out,
		     struct err *e)
{
	struct diff_source s = {.v = w->v};

	return diff_source_attr(&s, path, out, e);
}

static int restore_path(struct work *w, const struct vfs_difference *d,
			struct err *e)
{
	struct vfs_attr now;
	int there = live_attr(w, d->path, &now, e);

	if (there < 0)
		return -1;
	if (d->kind == VFS_REMOVED)
		return there ? remove_path(w->v, d->path, e) : 0;
	if (there && now.ino == d->b.ino)
		return restore_in_place(w, d->b.ino, e);
	if (there && S_ISDIR(now.mode) && S_ISDIR(d->b.mode))
		return 0; /* its entries follow */
	if (there && vfs_remove(w->v, d->path, false, e))
		return -1;
	return restore_name(w, d->path, d->b.ino, e);
}

/* --- conflicts ----------------------------------------------------------- */

/* 1: restore it, 0: nothing to do, -1. */
static int classify(struct work *w, const struct vfs_difference *d,
		    struct err *e)
{
	struct diff_source live = {.v = w->v}, from = {.v = &w->from},
			   to = {.v = &w->to};
	int untouched, agreed;

	if (w->r->wants && !w->r->wants(w->r->m.arg, d->path))
		return 0;
	if (!w->from.snap)
		return 1;
	untouched = diff_source_same_at(&from, &live, d->path, e);
	agreed = untouched ? untouched
			   : diff_source_same_at(&to, &live, d->path, e);
	if (untouched || agreed)
		return untouched < 0 || agreed < 0 ? -1 : untouched;
	return conflict_decide(&w->r->m, d) == VFS_STRATEGY_FORK;
}

static int classify_all(struct work *w, struct err *e)
{
	for (size_t i = 0; i < w->d.n; i++) {
		w->d.decision[i] = classify(w, &w->d.list[i], e);
		if (w->d.decision[i] < 0)
			return -1;
	}
	if (!w->r->m.unresolved)
		return 0;
	return err_set(
		e, ERR_CONFLICT,
		"%lld %s changed later, so nothing was reverted",
		(long long)w->r->m.conflicts,
		text_plural(w->r->m.conflicts, "path has", "paths have"));
}

static int restore_in(struct work *w, struct err *e)
{
	struct diff_source from = {.v = w->from.snap ? &w->from : w->v},
			   to = {.v = &w->to};
	struct vfs_at at = {0, w->r->to};

	if (vfs_diff(&from, &to, diff_list_add, &w->d, e) || classify_all(w, e))
		return -1;
	for (size_t i = 0; i < w->d.n; i++) {
		if (!w->d.decision[i])
			continue;
		if (restore_path(w, &w->d.list[i], e))
			return -1;
		w->r->m.applied++;
		if (w->r->m.report)
			w->r->m.report(w->r->m.arg, &w->d.list[i], false);
	}
	/* mounts forget what they know */
	return w->r->m.applied ? journal_add(w->v, VFS_OP_rollback, at, 0, e)
			       : 0;
}

/* The same namespace at a snapshot, within the transaction of v. */
static int view_of(struct vfs *v, const char *name, struct vfs *out,
		   struct err *e)
{
	struct vfs_snap_find_row snap;

	*out = *v;
	out->inside = true;
	out->base_fd = -1; /* its own */
	memset(&out->host, 0, sizeof out->host);
	if (!name)
		return 0;
	if (snapshot_find(v, name, &snap, e))
		return -1;
	out->snap = snap.id;
	out->snap_next_ino = snap.next_ino;
	out->node_cache = (struct node_cache){0};
	return 0;
}

static int restore_whole(struct vfs *v, const void *arg, struct err *e)
{
	struct work w = {.r = *(struct vfs_restore *const *)arg, .v = v};
	int rc;

	if (view_of(v, w.r->to, &w.to, e) || view_of(v, w.r->from, &w.from, e))
		return -1;
	rc = restore_in(&w, e);
	lower_close(&w.to);
	lower_close(&w.from);
	diff_list_fini(&w.d);
	free(w.made);
	return rc;
}

int vfs_restore(struct vfs *v, struct vfs_restore *r, struct err *e)
{
	int rc;

	r->m.applied = r->m.conflicts = r->m.unresolved = 0;
	sql_bulk_begin(v->db);
	rc = tx_many(v, restore_whole, &r, e);
	sql_bulk_end(v->db);
	return rc;
}

static int hidden_in(struct vfs *v, const void *name, struct err *e)
{
	return snapshot_add(v, name, true, e);
}

int vfs_snapshot_hidden(struct vfs *v, const char *name, int64_t *id,
			struct err *e)
{
	if (tx_many(v, hidden_in, name, e))
		return -1;
	*id = v->keep;
	return 0;
}
