#include "vfs/snapshot/diff.h"

#include "lib/base/text.h"
#include "vfs/core/core.h"
#include "vfs/core/fork_fill.h"
#include "vfs/core/lower.h"
#include "vfs/snapshot/udiff.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define TEXT_MAX ((size_t)64 << 20)

/* A pair of directories in the comparison, on a stack of our own. */
struct level {
	struct diff_source_entry *a, *b;
	int64_t a_ino, b_ino; /* in a namespace; 0: none */
	int na, nb, ia, ib;
	size_t path_n;
	struct arena mem;
	struct vfs_difference after; /* removal of the directory itself */
	bool remove_after;
};

struct diff {
	const struct diff_source *a, *b;
	vfs_difference_fn *fn;
	void *arg;
	struct buf path;
	struct level *levels;
	size_t depth, cap;
	bool prune;               /* `touched` limits the search */
	struct node_refs touched; /* directories, with all their parents */
};

static const struct vfs_attr *dir_or_null(const struct vfs_attr *a)
{
	return a && S_ISDIR(a->mode) ? a : NULL;
}

static int check_cycle(const struct diff *d, int64_t a, int64_t b,
		       struct err *e)
{
	for (size_t i = 0; i < d->depth; i++) {
		if (a && d->levels[i].a_ino == a)
			return within_itself(a, e);
		if (b && d->levels[i].b_ino == b)
			return within_itself(b, e);
	}
	return 0;
}

static int push(struct diff *d, const struct vfs_attr *a,
		const struct vfs_attr *b, struct err *e)
{
	int64_t a_ino = a && d->a->v ? a->ino : 0;
	int64_t b_ino = b && d->b->v ? b->ino : 0;
	struct level *l;

	if (check_cycle(d, a_ino, b_ino, e))
		return -1;
	if (d->depth == d->cap) {
		d->cap = d->cap ? d->cap * 2 : 16;
		d->levels = realloc(d->levels, d->cap * sizeof *d->levels);
		if (!d->levels)
			abort();
	}
	l = &d->levels[d->depth++];
	*l = (struct level){
		.path_n = d->path.n, .a_ino = a_ino, .b_ino = b_ino};
	if (a && (l->na = diff_source_list(d->a, d->path.p, a->ino, &l->a,
					   &l->mem, e)) < 0)
		return -1;
	if (b && (l->nb = diff_source_list(d->b, d->path.p, b->ino, &l->b,
					   &l->mem, e)) < 0)
		return -1;
	return 0;
}

static int pop(struct diff *d, struct err *e)
{
	struct level *l = &d->levels[d->depth - 1];
	int rc = 0;

	if (l->remove_after) {
		d->path.n = l->path_n;
		d->path.p[d->path.n] = '\0';
		l->after.path = d->path.p;
		rc = d->fn(d->arg, &l->after, e);
	}
	arena_fini(&l->mem);
	d->depth--;
	return rc;
}

static int report_difference(struct diff *d, enum vfs_difference_kind kind,
			     const struct vfs_attr *a, const struct vfs_attr *b,
			     struct err *e)
{
	struct vfs_difference delta = {.kind = kind, .path = d->path.p};

	if (a)
		delta.a = *a;
	if (b)
		delta.b = *b;
	return d->fn(d->arg, &delta, e);
}

/* Side b is a namespace whose lower directory is side a. */
static bool over_host(const struct diff *d)
{
	return !d->a->v && d->b->v && d->b->v->base &&
	       strcmp(d->b->v->base, d->a->dir) == 0;
}

/* Whether the host has the path, but the namespace never had it. Only files and
 * directories are recorded. */
static int is_unseen(const struct diff *d, const struct vfs_attr *a,
		     struct err *e)
{
	struct vfs_lower_row row;
	int seen = 1;

	if (over_host(d) && (S_ISREG(a->mode) || S_ISDIR(a->mode)))
		seen = lower_seen(d->b->v, d->path.p, &row, e);
	return seen < 0 ? -1 : !seen;
}

static int removed(struct diff *d, const struct vfs_attr *a, struct err *e)
{
	struct vfs_difference gone = {
		.kind = VFS_REMOVED, .path = d->path.p, .a = *a};
	int unseen = is_unseen(d, a, e);

	if (unseen < 0)
		return -1;
	gone.is_unseen = unseen;
	if (!S_ISDIR(a->mode))
		return d->fn(d->arg, &gone, e);
	if (push(d, a, NULL, e))
		return -1;
	d->levels[d->depth - 1].remove_after = true;
	d->levels[d->depth - 1].after = gone;
	return 0;
}

static int added_as(struct diff *d, enum vfs_difference_kind kind,
		    const struct vfs_attr *b, struct err *e)
{
	int rc = report_difference(d, kind, NULL, b, e);

	return rc || !S_ISDIR(b->mode) ? rc : push(d, NULL, b, e);
}

/* Whether a file, or a directory, was on the host at this path when the
 * namespace first looked. */
static int was_on_host(const struct diff *d, bool dir, struct err *e)
{
	struct vfs_lower_row row;
	int was = over_host(d) ? lower_seen(d->b->v, d->path.p, &row, e) : 0;

	return was > 0 ? dir == (row.size == HOST_DIR) : was;
}

static int added(struct diff *d, const struct vfs_attr *b, struct err *e)
{
	int was = was_on_host(d, S_ISDIR(b->mode), e);

	if (was < 0)
		return -1;
	return added_as(d, was ? VFS_UNMERGED : VFS_ADDED, b, e);
}

/* Whether this node of the namespace is still what its lower directory has
 * there. */
static int is_clean(const struct diff *d, const struct vfs_attr *b,
		    struct err *e)
{
	struct node n;

	if (!over_host(d))
		return 0;
	if (node_get(d->b->v, b->ino, &n, e))
		return -1;
	return lower_is_clean(d->b->v, &n, d->path.p, e);
}

/* The same node in the same state: nothing to read. */
static bool same_node(const struct diff *d, const struct vfs_attr *a,
		      const struct vfs_attr *b)
{
	return d->a->v && d->b->v && d->a->v->ns == d->b->v->ns &&
	       a->ino == b->ino && a->changed == b->changed;
}

static int same_meta(const struct diff *d, const struct vfs_attr *a,
		     const struct vfs_attr *b, struct err *e)
{
	if (a->mode != b->mode || a->uid != b->uid || a->gid != b->gid)
		return 0;
	return same_node(d, a, b) ? 1
				  : diff_source_same_xattrs(d->a, d->b,
							    d->path.p, a, b, e);
}

static int same_content(const struct diff *d, const struct vfs_attr *a,
			const struct vfs_attr *b, struct err *e)
{
	if (S_ISDIR(a->mode) || same_node(d, a, b))
		return 1;
	return a->size == b->size
		       ? diff_source_same(d->a, d->b, d->path.p, a, b, e)
		       : 0;
}

/* Two forks of one snapshot: neither has used the directory. */
static int is_shared_dir(const struct diff *d, const struct vfs_attr *a,
			 const struct vfs_attr *b, struct err *e)
{
	return d->a->v && d->b->v && a->ino == b->ino
		       ? fork_same_unread(d->a->v, d->b->v, a->ino, e)
		       : 0;
}

static int both(struct diff *d, const struct vfs_attr *a,
		const struct vfs_attr *b, struct err *e)
{
	int clean = is_clean(d, b, e), same, meta, rc;

	if (clean < 0)
		return -1;
	same = clean ? 1 : same_content(d, a, b, e);
	meta = same < 0 ? -1 : same_meta(d, a, b, e);
	if (meta < 0)
		return -1;
	if (!same || !meta) {
		rc = report_difference(d, same ? VFS_MODE : VFS_CHANGED, a, b,
				       e);
		if (rc)
			return rc;
	}
	if (clean || !S_ISDIR(a->mode) ||
	    (d->prune && !node_refs_count(&d->touched, b->ino)))
		return 0;
	rc = is_shared_dir(d, a, b, e);
	if (rc)
		return rc < 0 ? -1 : 0;
	return push(d, a, b, e);
}

static int compare_entries(struct diff *d, const struct diff_source_entry *a,
			   const struct diff_source_entry *b, struct err *e)
{
	int rc;

	if (!b)
		return removed(d, &a->attr, e);
	if (!a)
		return added(d, &b->attr, e);
	if ((a->attr.mode & S_IFMT) == (b->attr.mode & S_IFMT))
		return both(d, &a->attr, &b->attr, e);
	/* the type changed: the contents of a directory are removed first */
	if (!S_ISDIR(a->attr.mode)) {
		rc = report_difference(d, VFS_REMOVED, &a->attr, NULL, e);
		return rc ? rc : added_as(d, VFS_ADDED, &b->attr, e);
	}
	d->levels[d->depth - 1].ib--; /* it is reported again, alone */
	return removed(d, &a->attr, e);
}

static int next_entry(struct diff *d, struct err *e)
{
	struct level *l = &d->levels[d->depth - 1];
	const struct diff_source_entry *a = l->ia < l->na ? &l->a[l->ia] : NULL;
	const struct diff_source_entry *b = l->ib < l->nb ? &l->b[l->ib] : NULL;
	int order = a && b ? strcmp(a->name, b->name) : a ? -1 : 1;

	if (!a && !b)
		return pop(d, e);
	if (order < 0)
		b = NULL;
	if (order > 0)
		a = NULL;
	l->ia += a != NULL;
	l->ib += b != NULL;
	d->path.n = l->path_n;
	if (d->path.n)
		buf_addc(&d->path, '/');
	buf_adds(&d->path, a ? a->name : b->name);
	if (buf_ok(&d->path, "the path", e))
		return -1;
	return compare_entries(d, a, b, e);
}

/* Directories in the undo tables, in a view, with all their parents. */
static int touch_up(struct diff *d, struct vfs *v, int64_t dir, struct err *e)
{
	while (!node_refs_count(&d->touched, dir)) {
		struct node n;
		int found = node_find(v, dir, &n, e);

		if (found <= 0)
			return found;
		node_refs_add(&d->touched, dir, 1);
		if (dir == VFS_ROOT)
			break;
		dir = n.parent;
	}
	return 0;
}

static int find_touched(struct diff *d, int64_t since, struct err *e)
{
	struct vfs_range r = range_of(d->a->v->ns);
	struct sql *db = d->a->v->db;
	struct arena mem = {0};
	struct vfs_number *rows, links;
	int n, rc = 0;

	r.snap = since;
	/* a node with several names has only one path: search everywhere */
	if (sql_get(db, Q_VFS_TOUCHED_LINKS, &r, &links, NULL, e) < 0)
		return -1;
	d->prune = links.n == 0;
	n = sql_collect(db, Q_VFS_TOUCHED_DIRS, &r, INT32_MAX, &rows, &mem, e);
	for (int i = 0; rc == 0 && i < n; i++)
		rc = touch_up(d, d->a->v, rows[i].n & INO_MASK, e) ||
				     touch_up(d, d->b->v, rows[i].n & INO_MASK,
					      e)
			     ? -1
			     : 0;
	arena_fini(&mem);
	return n < 0 ? -1 : rc;
}

/* Two views of one namespace: the older of the two snapshots limits what can
 * have changed. */
static int plan(struct diff *d, struct err *e)
{
	const struct vfs *a = d->a->v, *b = d->b->v;
	int64_t since;

	if (!a || !b || a->db != b->db || a->ns != b->ns ||
	    (!a->snap && !b->snap))
		return 0;
	since = !a->snap || (b->snap && b->snap < a->snap) ? b->snap : a->snap;
	return find_touched(d, since, e);
}

static void grow_caches(const struct diff *d, bool grow)
{
	const struct vfs *views[] = {d->a->v, d->b->v};

	for (int i = 0; i < 2; i++) {
		if (views[i] && grow)
			sql_bulk_begin(views[i]->db);
		else if (views[i])
			sql_bulk_end(views[i]->db);
	}
}

int vfs_diff(const struct diff_source *a, const struct diff_source *b,
	     vfs_difference_fn *fn, void *arg, struct err *e)
{
	struct diff d = {.a = a, .b = b, .fn = fn, .arg = arg};
	struct vfs_attr ra, rb;
	struct err ignored;
	int rc = 0, there_a, there_b = -1;

	buf_init(&d.path, 1 << 20);
	grow_caches(&d, true);
	there_a = diff_source_attr(a, "", &ra, e);
	if (there_a >= 0)
		there_b = diff_source_attr(b, "", &rb, e);
	if (there_b < 0 || plan(&d, e))
		rc = -1;
	if (rc == 0)
		rc = push(&d, there_a ? dir_or_null(&ra) : NULL,
			  there_b ? dir_or_null(&rb) : NULL, e);
	while (rc == 0 && d.depth)
		rc = next_entry(&d, e);
	while (d.depth) {
		d.levels[d.depth - 1].remove_after = false;
		pop(&d, &ignored);
	}
	grow_caches(&d, false);
	free(d.levels);
	node_refs_fini(&d.touched);
	buf_fini(&d.path);
	return rc;
}

const char *vfs_difference_letter(enum vfs_difference_kind kind)
{
	static const char *const letters[] = {"A", "D", "M", "m", "U"};

	return letters[kind];
}

static int read_text(const struct diff_source *s,
		     const struct vfs_difference *d, const struct vfs_attr *a,
		     struct buf *out, struct err *e)
{
	return a->mode ? diff_source_content(s, d->path, a, out, e) : 0;
}

int vfs_diff_text(const struct diff_source *a, const struct diff_source *b,
		  const struct vfs_difference *d, struct buf *out,
		  struct err *e)
{
	struct buf x = BUF_MAX(TEXT_MAX), y = BUF_MAX(TEXT_MAX);
	int rc = -1;

	buf_addf(out, "diff a/%s b/%s\n", d->path, d->path);
	if (d->a.mode && d->b.mode && d->a.mode != d->b.mode)
		buf_addf(out, "old mode %06o\nnew mode %06o\n", d->a.mode,
			 d->b.mode);
	else if (!d->a.mode && d->kind != VFS_UNMERGED)
		buf_addf(out, "new file mode %06o\n", d->b.mode);
	else if (!d->b.mode)
		buf_addf(out, "deleted file mode %06o\n", d->a.mode);
	if (d->kind == VFS_UNMERGED) {
		buf_addf(out, "removed from the host directory\n");
		rc = 0;
	} else if (!read_text(a, d, &d->a, &x, e) &&
		   !read_text(b, d, &d->b, &y, e)) {
		rc = 0;
		if (x.n != y.n || memcmp(x.p, y.p, x.n) != 0)
			udiff(&(struct udiff){d->path, x.p, x.n, y.p, y.n,
					      !d->a.mode, !d->b.mode},
			      out);
	}
	buf_fini(&x);
	buf_fini(&y);
	return rc ? rc : buf_ok(out, "the difference", e);
}
