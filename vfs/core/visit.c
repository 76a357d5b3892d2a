#include "vfs/core/visit.h"

#include "lib/base/buf.h"
#include "vfs/core/core.h"
#include "vfs/core/path.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A directory in the walk, on a stack of our own: trees can have any depth. */
struct level {
	int64_t ino;
	struct vfs_dir dir;
	size_t next;
	size_t path_n; /* length of this directory's path */
};

struct visit {
	struct vfs *v;
	struct level *levels;
	size_t depth, cap;
	struct buf path;
	vfs_visit_fn *fn;
	void *arg;
};

/* In a damaged file a directory may be inside itself. */
static int check_cycle(const struct visit *t, int64_t dir, struct err *e)
{
	for (size_t i = 0; i < t->depth; i++)
		if (t->levels[i].ino == dir)
			return within_itself(dir, e);
	return 0;
}

static int push(struct visit *t, int64_t dir, struct err *e)
{
	struct level *l;

	if (check_cycle(t, dir, e))
		return -1;

	if (t->depth == t->cap) {
		t->cap = t->cap ? t->cap * 2 : 16;
		t->levels = realloc(t->levels, t->cap * sizeof *t->levels);
		if (!t->levels)
			abort();
	}
	l = &t->levels[t->depth];
	l->ino = dir;
	l->next = 0;
	l->path_n = t->path.n;
	if (vfs_readdir(t->v, dir, &l->dir, e))
		return -1;
	t->depth++;
	return 0;
}

static void pop(struct visit *t)
{
	vfs_dir_fini(&t->levels[--t->depth].dir);
}

static int see(struct visit *t, const char *name, const struct vfs_attr *a,
	       struct err *e)
{
	struct vfs_found f = {.path = t->path.p,
			      .name = name,
			      .depth = (int)t->depth,
			      .attr = *a};
	int rc = t->fn(t->arg, &f, e);

	if (rc)
		return rc < 0 ? -1 : 0;
	return S_ISDIR(a->mode) ? push(t, a->ino, e) : 0;
}

static int next(struct visit *t, struct err *e)
{
	struct level *l = &t->levels[t->depth - 1];
	const struct vfs_entry *en;
	struct vfs_attr a;
	struct err why;

	if (l->next == l->dir.n) {
		pop(t);
		return 0;
	}
	en = &l->dir.entries[l->next++];
	t->path.n = l->path_n;
	if (t->path.n)
		buf_addc(&t->path, '/');
	buf_adds(&t->path, en->name);
	if (buf_ok(&t->path, "the path", e))
		return -1;
	if (vfs_getattr(t->v, en->ino, &a, &why) == 0)
		return see(t, en->name, &a, e);
	if (why.code == ERR_NOTFOUND)
		return 0;
	*e = why;
	return -1;
}

int vfs_visit(struct vfs *v, const char *start, vfs_visit_fn *fn, void *arg,
	      struct err *e)
{
	struct visit t = {.v = v, .fn = fn, .arg = arg};
	const char *slash = strrchr(start, '/');
	struct vfs_attr a;
	int rc;

	buf_init(&t.path, 1 << 20);
	sql_bulk_begin(v->db);
	rc = vfs_walk(v, start, VFS_FOLLOW, &a, e);
	if (rc == 0)
		rc = see(&t, slash ? slash + 1 : start, &a, e);
	while (rc == 0 && t.depth)
		rc = next(&t, e);
	while (t.depth)
		pop(&t);
	sql_bulk_end(v->db);
	free(t.levels);
	buf_fini(&t.path);
	return rc;
}

bool vfs_glob(const char *pattern, const struct vfs_found *f)
{
	if (!strchr(pattern, '/'))
		return fnmatch(pattern, f->name, 0) == 0;
	/* without FNM_PATHNAME a star matches slashes, as ** must */
	return fnmatch(pattern, f->path,
		       strstr(pattern, "**") ? 0 : FNM_PATHNAME) == 0;
}
