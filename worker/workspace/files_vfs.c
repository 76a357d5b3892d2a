/* Files in a namespace of the agent's file, without a mount. */
#include "lib/base/fault.h"
#include "lib/base/text.h"
#include "vfs/core/path.h"
#include "vfs/core/vfs.h"
#include "vfs/core/visit.h"
#include "vfs/snapshot/diff.h"
#include "vfs/snapshot/snapshot.h"
#include "worker/workspace/files.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PIECE     (1u << 20)
#define DEPTH_MAX 128 /* as beneath_walk */
#define NS_PER_S  1000000000
#define MODE_FILE 0666
#define MODE_DIR  0777

/* Uses the errors of a directory for the same failure. Errors that no directory
 * has (a cancelled run, a damaged file) stay unchanged. */
static int failed(const char *path, struct err *e)
{
	if (e->code == ERR_CANCELED || e->code == ERR_STALE ||
	    e->code == ERR_CORRUPT || e->code == ERR_BUSY)
		return -1;
	errno = err_errno(e->code);
	return beneath_failed(path, e);
}

/* --- one call ------------------------------------------------------------ */

static int ns_begin(struct files *s, bool changes, struct err *e)
{
	return changes ? vfs_begin(s->vfs, e) : vfs_begin_read(s->vfs, e);
}

static int ns_end(struct files *s, bool changes, int rc, struct err *e)
{
	if (!changes)
		vfs_end_read(s->vfs);
	else if (rc)
		vfs_rollback(s->vfs);
	else
		rc = vfs_commit(s->vfs, e);
	return rc;
}

/* --- files --------------------------------------------------------------- */

static int pieces(struct files *s, const char *path, files_sink *fn, void *arg,
		  struct err *e)
{
	struct vfs_attr a;
	int64_t off = 0;
	ssize_t n = 1;
	char *room;

	if (vfs_walk(s->vfs, path, VFS_FOLLOW, &a, e))
		return failed(path, e);
	if (!S_ISREG(a.mode))
		return beneath_not_plain(path, e);
	room = malloc(PIECE);
	if (!room)
		abort();
	while (n > 0) {
		n = vfs_pread(s->vfs, a.ino, room, PIECE, off, e);
		if (n < 0)
			failed(path, e);
		else if (n > 0 && fn(arg, room, (size_t)n, e))
			n = -1;
		off += n;
	}
	free(room);
	return n < 0 ? -1 : 0;
}

/* The first n bytes of the path, directory by directory. */
static int make_dirs(struct files *s, const char *path, size_t n, struct err *e)
{
	mode_t mode = MODE_DIR & ~s->mask;
	struct vfs_attr a;
	char part[PATH_MAX];
	size_t at = 0;

	if (n >= sizeof part)
		return err_set(e, ERR_INVALID, "the path is too long");
	while (at < n) {
		at += strspn(path + at, "/");
		at += strcspn(path + at, "/");
		snprintf(part, sizeof part, "%.*s", (int)(at < n ? at : n),
			 path);
		if (vfs_walk(s->vfs, part, VFS_FOLLOW, &a, e) == 0) {
			if (S_ISDIR(a.mode))
				continue;
			err_set(e, ERR_NOTDIR, "%s", part);
		}
		if (e->code != ERR_NOTFOUND ||
		    vfs_mkdir(s->vfs, part, mode, false, e))
			return failed(part, e);
	}
	return 0;
}

static int make_parents(struct files *s, const char *path, struct err *e)
{
	const char *slash = strrchr(path, '/');

	return slash ? make_dirs(s, path, (size_t)(slash - path), e) : 0;
}

/* A directory cannot be replaced by a file, and "", "." and ".." are not
 * names. */
static int place(const char *path, struct err *e)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	if (*name && strcmp(name, ".") != 0 && strcmp(name, "..") != 0)
		return 0;
	return err_set(e, ERR_INVALID, "%s does not name a file",
		       quoted(path).text);
}

static int ns_put(struct files *s, const char *path, struct blob what,
		  enum files_put how, struct err *e)
{
	struct vfs_put p = {.mode = MODE_FILE & ~s->mask,
			    .append = how == FILES_APPEND};
	struct vfs_attr a;

	if (place(path, e) || make_parents(s, path, e))
		return -1;
	if (how == FILES_NEW &&
	    vfs_walk(s->vfs, path, VFS_NOFOLLOW, &a, e) == 0)
		return 0;
	return vfs_write_file(s->vfs, path, what, &p, e) ? failed(path, e) : 0;
}

static int ns_mkdir(struct files *s, const char *path, struct err *e)
{
	size_t n = strlen(path);

	while (n > 1 && path[n - 1] == '/')
		n--;
	return make_dirs(s, path, n, e);
}

static int cannot_move(const char *from, const char *to, struct err *e)
{
	errno = err_errno(e->code);
	return err_errno_set(e, "move %s to %s", quoted(from).text,
			     quoted(to).text);
}

static int ns_rename(struct files *s, const char *from, const char *to,
		     struct err *e)
{
	struct vfs_attr a;

	if (place(from, e))
		return -1;
	if (vfs_walk(s->vfs, from, VFS_NOFOLLOW, &a, e))
		return e->code == ERR_NOTFOUND ? cannot_move(from, to, e)
					       : failed(from, e);
	if (place(to, e) || make_parents(s, to, e))
		return -1;
	return vfs_move(s->vfs, from, to, VFS_NOREPLACE, e)
		       ? cannot_move(from, to, e)
		       : 0;
}

static int ns_remove(struct files *s, const char *path, struct err *e)
{
	if (place(path, e))
		return -1;
	if (vfs_remove(s->vfs, path, false, e) == 0)
		return 0;
	if (e->code == ERR_ESCAPE)
		return failed(path, e);
	errno = err_errno(e->code);
	return err_errno_set(e, "delete %s", quoted(path).text);
}

static struct timespec time_of(int64_t ns)
{
	return (struct timespec){.tv_sec = ns / NS_PER_S,
				 .tv_nsec = ns % NS_PER_S};
}

static int info(struct files *s, const char *path, struct files_info *out,
		struct err *e)
{
	struct vfs_attr a;

	if (vfs_walk(s->vfs, path, VFS_FOLLOW, &a, e))
		return failed(path, e);
	*out = (struct files_info){.mode = a.mode,
				   .size = a.size,
				   .modified = time_of(a.modified),
				   .accessed = time_of(a.accessed),
				   .changed = time_of(a.changed)};
	return 0;
}

/* --- everything below ---------------------------------------------------- */

struct walk {
	beneath_fn *fn;
	void *arg;
	int open;        /* entered directories, without the start */
	struct buf path; /* of the innermost of them */
	bool any;        /* the innermost has an entry */
};

static int leave_to(struct walk *w, int depth, struct err *e)
{
	while (w->open > depth) {
		char *slash = strrchr(w->path.p, '/');
		struct beneath_item item = {.path = w->path.p,
					    .name = slash ? slash + 1
							  : w->path.p,
					    .depth = w->open - 1,
					    .is_dir = true,
					    .leaving = true};

		if (w->fn(w->arg, &item, e) < 0)
			return -1;
		w->path.n = slash ? (size_t)(slash - w->path.p) : 0;
		w->path.p[w->path.n] = '\0';
		w->open--;
		w->any = true;
	}
	return 0;
}

static int see(void *arg, const struct vfs_found *f, struct err *e)
{
	struct walk *w = arg;
	struct beneath_item item = {.path = f->path,
				    .name = f->name,
				    .depth = f->depth - 1,
				    .is_dir = S_ISDIR(f->attr.mode),
				    .is_file = S_ISREG(f->attr.mode)};
	int rc;

	if (f->depth == 0)
		return 0;
	if (leave_to(w, f->depth - 1, e))
		return -1;
	item.first = !w->any;
	rc = w->fn(w->arg, &item, e);
	w->any = true;
	if (rc || !item.is_dir)
		return rc < 0 ? -1 : item.is_dir;
	w->open = f->depth;
	w->any = false;
	buf_clear(&w->path);
	buf_adds(&w->path, f->path);
	return f->depth >= DEPTH_MAX;
}

static int ns_walk(struct files *s, const char *start, beneath_fn *fn,
		   void *arg, struct err *e)
{
	struct walk w = {.fn = fn, .arg = arg};
	struct vfs_attr a;
	int rc;

	if (vfs_walk(s->vfs, start, VFS_FOLLOW, &a, e))
		return failed(start, e);
	if (!S_ISDIR(a.mode)) {
		errno = ENOTDIR;
		return beneath_failed(start, e);
	}
	buf_init(&w.path, 1 << 20);
	rc = vfs_visit(s->vfs, start, see, &w, e);
	if (rc == 0)
		rc = leave_to(&w, 0, e);
	buf_fini(&w.path);
	return rc;
}

/* --- snapshots ----------------------------------------------------------- */

static int snapshot(struct files *s, const char *name, struct err *e)
{
	size_t n = strlen(name);
	int rc = n == 0 || n > NAME_MAX
			 ? err_set(e, ERR_INVALID, "a snapshot needs a name")
			 : vfs_snapshot(s->vfs, name, e);

	if (rc == 0)
		return 0;
	errno = err_errno(e->code);
	return err_errno_set(e, "snapshot %s", quoted(name).text);
}

static int diff(struct files *s, const char *from, struct buf *out,
		struct err *e)
{
	if (vfs_diff_since(s->vfs, from, XATTR_SIZE_MAX - 1, out, e) == 0)
		return 0;
	return e->code == ERR_NOTFOUND
		       ? err_set(e, ERR_NOTFOUND, FILES_NO_SNAPSHOT)
		       : -1;
}

static void set_author(struct files *s, int64_t run, int64_t turn,
		       const char *tool)
{
	vfs_set_author(s->vfs, run, turn, tool);
}

/* If an ephemeral namespace cannot be deleted here, the end of the attempt hides
 * it. */
static void close_vfs(struct files *s)
{
	char *name = s->ephemeral ? strdup(vfs_name(s->vfs)) : NULL;
	struct err ignored;

	vfs_close(s->vfs);
	s->vfs = NULL;
	if (name && !fault_point(FAULT_workspace_leaving, &ignored)) {
		(void)vfs_destroy(s->ephemeral, name, &ignored);
		(void)vfs_gc(s->ephemeral, &ignored); /* of killed runs */
	}
	free(name);
}

static const struct files_kind kind = {
	.begin = ns_begin,
	.end = ns_end,
	.pieces = pieces,
	.put = ns_put,
	.make_dir = ns_mkdir,
	.move = ns_rename,
	.drop = ns_remove,
	.info = info,
	.walk = ns_walk,
	.snapshot = snapshot,
	.diff = diff,
	.author = set_author,
	.close = close_vfs,
};

/* --- opening ------------------------------------------------------------- */

int files_vfs(struct files *s, const char *dir, struct sql *db,
	      const struct files_plan *p, struct err *e)
{
	struct vfs *v;
	mode_t mask;

	if (files_namespace(&v, db, p, NULL, e))
		return -1;
	mask = umask(0);
	(void)umask(mask);
	*s = (struct files){.kind = &kind,
			    .beneath = {.fd = -1, .dir = dir},
			    .vfs = v,
			    .lower = vfs_base(v),
			    .ephemeral = p->ephemeral ? db : NULL,
			    .mask = mask};
	return 0;
}
