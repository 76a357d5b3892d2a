#include "vfs/transfer/import.h"

#include "lib/base/text.h"
#include "vfs/core/core.h"
#include "vfs/core/path.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PART_NODES 4096
#define PART_BYTES ((int64_t)16 << 20) /* fits the cache of sql_bulk_begin */

/* Calls inside have no savepoints, and a node is written once: a part is
 * committed or lost as a whole. */
static int begin_part(struct import *im, struct err *e)
{
	im->pending = im->pending_bytes = 0;
	if (vfs_begin(im->v, e))
		return -1;
	im->v->inside = im->v->batch_atomic = true;
	return 0;
}

/* Commits, or rolls the part back if rc is a failure. */
static int end_part(struct import *im, int rc, struct err *e)
{
	struct vfs *v = im->v;

	v->inside = false;
	if (!v->batch)
		rc = -1;
	else if (rc)
		vfs_rollback(v);
	else
		rc = vfs_commit(v, e);
	v->batch_atomic = false;
	node_cache_clear(v); /* changes of nodes no longer go through it */
	return rc;
}

int import_begin(struct import *im, struct vfs *v, struct vfs_transfer *port,
		 struct err *e)
{
	*im = (struct import){.v = v, .port = port};
	port->nodes = port->bytes = 0;
	if (begin_part(im, e))
		return -1;
	sql_bulk_begin(v->db);
	return 0;
}

/* Commits now and then, so that other writers get their turn. */
static int yield_to_writers(struct import *im, struct err *e)
{
	vfs_transfer_report(im->port);
	if (im->pending < PART_NODES && im->pending_bytes < PART_BYTES)
		return 0;
	return end_part(im, 0, e) || begin_part(im, e) ? -1 : 0;
}

static const char *target_path(struct import *im, const char *path)
{
	const char *root = im->port->path ? im->port->path : "";

	while (*path == '/')
		path++;
	return arena_printf(&im->mem, "%s%s%s", root, *root ? "/" : "", path);
}

static bool has_dotdot(const char *path)
{
	for (size_t at = 0; path[at];) {
		size_t begin = at + strspn(path + at, "/");
		size_t n = strcspn(path + begin, "/");

		if (n == 2 && !memcmp(path + begin, "..", 2))
			return true;
		at = begin + n;
	}
	return false;
}

/* An archive must not reach beyond its target: not with "..", and not through a
 * link that it contains or finds. n: up to the last name, which is created and
 * not followed. */
static int stays_inside(struct import *im, const char *path, size_t n,
			struct err *e)
{
	size_t root = im->port->path ? strlen(im->port->path) : 0;

	if (has_dotdot(path + root))
		return err_set(e, ERR_ESCAPE, "'..' leads outside the tree");
	for (size_t at = root; at < n;) {
		struct vfs_attr a;

		at += strspn(path + at, "/");
		at += strcspn(path + at, "/");
		if (vfs_walk(im->v, arena_textn(&im->mem, path, at),
			     VFS_NOFOLLOW, &a, e))
			return e->code == ERR_NOTFOUND ? 0 : -1;
		if (S_ISLNK(a.mode))
			return err_set(e, ERR_ESCAPE,
				       "it leads through a symbolic link");
	}
	return 0;
}

/* The directory of a path, created if it is missing. If it comes from the lower
 * directory, its names are read first: make_way finds only rows. */
static int parent_of(struct import *im, const char *path, const char **name,
		     int64_t *dir, struct err *e)
{
	const char *slash = strrchr(path, '/');
	size_t n = slash ? (size_t)(slash - path) : 0;
	struct vfs_attr a;
	struct node parent;
	char *text;

	*name = slash ? slash + 1 : path;
	if (im->dir && strcmp(*name, "..") != 0 && strlen(im->dir) == n &&
	    !memcmp(im->dir, path, n)) {
		*dir = im->dir_ino;
		return 0;
	}
	text = arena_textn(&im->mem, path, n);
	if (stays_inside(im, path, n, e) ||
	    (n && vfs_mkdir(im->v, text, 0755, true, e)) ||
	    vfs_walk(im->v, text, VFS_FOLLOW, &a, e) ||
	    dir_get(im->v, a.ino, &parent, e))
		return -1;
	free(im->dir);
	im->dir = strdup(text);
	if (!im->dir)
		abort();
	*dir = im->dir_ino = a.ino;
	return 0;
}

static void defer_attributes(struct import *im, int64_t ino,
			     const struct vfs_attr *a)
{
	if (im->nlate == im->cap) {
		im->cap = im->cap ? im->cap * 2 : 256;
		im->late = realloc(im->late, im->cap * sizeof *im->late);
		if (!im->late)
			abort();
	}
	im->late[im->nlate++] = (struct late){ino, a->accessed, a->modified};
}

static int set_all(struct import *im, int64_t ino, const struct vfs_attr *want,
		   struct err *e)
{
	struct vfs_set set = {
		.what = VFS_SET_MODE | VFS_SET_UID | VFS_SET_GID,
		.mode = want->mode & 07777,
		.uid = want->uid,
		.gid = want->gid,
	};
	struct vfs_attr a;

	return vfs_setattr(im->v, ino, &set, &a, e);
}

/* Existing files are replaced, but directories are not: they are merged, or
 * stay unless the caller asks for replacement. */
static int make_way(struct import *im, struct vfs_at at, const char *path,
		    bool want_dir, int64_t *have, struct err *e)
{
	struct node n;
	int found = node_child(im->v, at, &n, e);

	*have = 0;
	if (found <= 0)
		return found;
	if (S_ISDIR(n.mode) && want_dir) {
		*have = n.ino;
		return 0;
	}
	if (S_ISDIR(n.mode) && !im->port->replace)
		return err_set(e, ERR_ISDIR,
			       "it would replace a directory and its "
			       "content; allow this with --replace");
	free(im->dir); /* it may be deleted with the rest */
	im->dir = NULL;
	return S_ISDIR(n.mode) ? vfs_remove(im->v, path, true, e)
			       : node_remove(im->v, at, &n, false, e);
}

static int make_node(struct import *im, struct vfs_at at,
		     const struct import_item *item, int64_t *ino,
		     struct err *e)
{
	struct vfs_new new = {.mode = item->attr.mode,
			      .uid = item->attr.uid,
			      .gid = item->attr.gid,
			      .rdev = item->attr.rdev,
			      .target = S_ISLNK(item->attr.mode) ? item->target
								 : NULL};
	struct vfs_attr a;
	struct node n;

	if (item->same_as)
		return vfs_link(im->v, item->same_as, at, &a, e);
	if (new.target && !*new.target)
		return err_set(e, ERR_INVALID, "a dangling hard link");
	if (node_make(im->v, at, &new, &n, e))
		return -1;
	*ino = n.ino;
	/* a parent directory with the set-group bit has changed it */
	return n.mode != item->attr.mode || n.gid != item->attr.gid
		       ? set_all(im, n.ino, &item->attr, e)
		       : 0;
}

bool import_is_type(mode_t mode)
{
	return S_ISREG(mode) || S_ISDIR(mode) || S_ISLNK(mode) ||
	       S_ISFIFO(mode) || S_ISSOCK(mode) || S_ISCHR(mode) ||
	       S_ISBLK(mode);
}

int import_item(struct import *im, const struct import_item *item, int64_t *ino,
		struct err *e)
{
	const char *path = target_path(im, item->path), *name;
	bool dir = S_ISDIR(item->attr.mode);
	struct vfs_attr a;
	struct vfs_at at;
	int rc = -1;

	*ino = item->same_as;
	if (!item->same_as && !import_is_type(item->attr.mode))
		return err_set(e, ERR_INVALID, "%s has an unknown file type",
			       quoted(item->path).text);
	if (dir && (!*path || !strcmp(item->path, ""))) {
		if (vfs_mkdir(im->v, path, 0755, true, e) ||
		    vfs_walk(im->v, path, VFS_FOLLOW, &a, e))
			return -1;
		*ino = a.ino;
		rc = set_all(im, a.ino, &item->attr, e);
	} else if (!parent_of(im, path, &name, &at.dir, e)) {
		at.name = name;
		rc = make_way(im, at, path, dir, ino, e);
		if (rc == 0 && !*ino)
			rc = make_node(im, at, item, ino, e);
		else if (rc == 0)
			rc = set_all(im, *ino, &item->attr, e);
	}
	if (rc)
		return err_wrap(e, "%s", quoted(item->path).text);
	if (item->same_as)
		*ino = item->same_as;
	if (dir)
		defer_attributes(im, *ino, &item->attr);
	im->port->nodes++;
	im->pending++;
	arena_reset(&im->mem);
	return yield_to_writers(im, e);
}

int import_data(struct import *im, int64_t ino, const void *p, size_t n,
		int64_t off, struct err *e)
{
	if (vfs_pwrite(im->v, ino, p, n, off, e))
		return -1;
	im->port->bytes += (int64_t)n;
	im->pending_bytes += (int64_t)n;
	return yield_to_writers(im, e);
}

int import_times(struct import *im, int64_t ino, const struct vfs_attr *a,
		 struct err *e)
{
	struct node n;

	if (node_get(im->v, ino, &n, e))
		return -1;
	n.accessed = a->accessed;
	n.modified = a->modified;
	return node_save(im->v, &n, e);
}

int import_find(struct import *im, const char *path, int64_t *ino,
		struct err *e)
{
	struct vfs_attr a;
	int rc = vfs_walk(im->v, target_path(im, path), VFS_NOFOLLOW, &a, e);

	*ino = rc ? 0 : a.ino;
	return rc;
}

int import_wrong(const char *file, struct err *e)
{
	if (e->code == ERR_INTERNAL)
		e->code = ERR_INVALID;
	return err_wrap(e, "%s", file);
}

static int set_deferred(struct import *im, struct err *e)
{
	for (size_t i = im->nlate; i > 0; i--) {
		struct vfs_attr a = {.accessed = im->late[i - 1].accessed,
				     .modified = im->late[i - 1].modified};

		if (import_times(im, im->late[i - 1].ino, &a, e) &&
		    e->code != ERR_NOTFOUND) /* replaced since */
			return -1;
	}
	return 0;
}

int import_end(struct import *im, int rc, struct err *e)
{
	if (rc == 0)
		rc = set_deferred(im, e);
	rc = end_part(im, rc, e);
	sql_bulk_end(im->v->db);
	arena_fini(&im->mem);
	free(im->dir);
	free(im->late);
	return rc;
}
