#include "vfs/transfer/transfer.h"

#include "lib/base/buf.h"
#include "lib/os/file.h"
#include "vfs/core/core.h"
#include "vfs/core/nanos.h"
#include "vfs/core/visit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#define PIECE (1 << 20)

struct late { /* directories get their attributes at the end */
	const char *path;
	struct vfs_attr attr;
};

struct writer {
	struct vfs *v;
	struct vfs_transfer *p;
	int root;
	char *room;
	struct node_refs links; /* node -> its first path */
	struct arena mem;
	struct late *late;
	size_t nlate, cap;
};

/* The directory of the path, below the root, without following links. */
static int parent_of(struct writer *w, const char *path, const char **name,
		     struct err *e)
{
	struct open_how how = {
		.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
	};
	const char *slash = strrchr(path, '/');
	char *dir;
	int fd;

	*name = slash ? slash + 1 : path;
	dir = slash ? strndup(path, (size_t)(slash - path)) : strdup(".");
	if (!dir)
		abort();
	fd = (int)syscall(SYS_openat2, w->root, dir, &how, sizeof how);
	if (fd < 0)
		err_errno_set(e, "%s", path);
	free(dir);
	return fd;
}

static int set_xattrs(struct writer *w, int fd, int64_t ino, struct err *e)
{
	struct buf names = BUF_MAX(1 << 20), value = BUF_MAX(1 << 20);
	int rc = vfs_listxattr(w->v, ino, &names, e);

	for (size_t at = 0; rc == 0 && at < names.n;
	     at += strlen(names.p + at) + 1) {
		buf_clear(&value);
		rc = vfs_getxattr(w->v, ino, names.p + at, &value, e);
		if (rc == 0 && fsetxattr(fd, names.p + at, value.p, value.n, 0))
			rc = err_errno_set(e, "attribute %s", names.p + at);
	}
	buf_fini(&names);
	buf_fini(&value);
	return rc;
}

/* A block of zeros becomes a hole. */
static bool is_zeros(const char *p, size_t n)
{
	return p[0] == 0 && memcmp(p, p + 1, n - 1) == 0;
}

static int copy_content(struct writer *w, int fd, const struct vfs_found *f,
			struct err *e)
{
	int64_t off = 0;
	ssize_t n;

	while ((n = vfs_pread(w->v, f->attr.ino, w->room, PIECE, off, e)) > 0) {
		if (is_zeros(w->room, (size_t)n)
			    ? lseek(fd, n, SEEK_CUR) < 0 &&
				      err_errno_set(e, "%s", f->path)
			    : file_write_fd(fd, f->path, w->room, (size_t)n, e))
			return -1;
		off += n;
		w->p->bytes += n;
		vfs_transfer_report(w->p);
	}
	if (n == 0 && ftruncate(fd, off)) /* it may end in a hole */
		return err_errno_set(e, "%s", f->path);
	return n < 0 ? -1 : set_xattrs(w, fd, f->attr.ino, e);
}

/* Existing files are not replaced. */
static int cannot(const char *path, struct err *e)
{
	if (errno == EEXIST)
		return err_set(e, ERR_CONFLICT,
			       "%s already exists; export to a new or an "
			       "empty directory",
			       path);
	return err_errno_set(e, "%s", path);
}

static int put_file(struct writer *w, int dir, const char *name,
		    const struct vfs_found *f, struct err *e)
{
	int fd = openat(dir, name,
			O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			0600);
	int rc;

	if (fd < 0)
		return cannot(f->path, e);
	rc = copy_content(w, fd, f, e);
	if (close(fd) && rc == 0)
		rc = err_errno_set(e, "%s", f->path);
	if (rc && e->code == ERR_STALE && unlinkat(dir, name, 0) == 0) {
		w->p->lost++;
		return 1;
	}
	return rc;
}

static int put_link(struct writer *w, int dir, const char *name,
		    const struct vfs_found *f, struct err *e)
{
	struct buf target = BUF_MAX(8192);
	int rc = vfs_readlink(w->v, f->attr.ino, &target, e);

	if (rc == 0 && symlinkat(target.p, dir, name))
		rc = cannot(f->path, e);
	buf_fini(&target);
	return rc;
}

/* Owner first: changing it clears set-id bits. */
static int dress(const struct writer *w, int dir, const char *name,
		 const struct vfs_attr *a, const char *path, struct err *e)
{
	mode_t mode = vfs_mode_out(a->mode, w->p->keep_setuid) & 07777;
	struct timespec times[2] = {nanos_spec(a->accessed),
				    nanos_spec(a->modified)};

	if (fchownat(dir, name, a->uid, a->gid, AT_SYMLINK_NOFOLLOW) &&
	    geteuid() == 0)
		return err_errno_set(e, "%s", path);
	if ((!S_ISLNK(a->mode) && fchmodat(dir, name, mode, 0)) ||
	    utimensat(dir, name, times, AT_SYMLINK_NOFOLLOW))
		return err_errno_set(e, "%s", path);
	return 0;
}

static void defer_attributes(struct writer *w, const struct vfs_found *f)
{
	if (w->nlate == w->cap) {
		w->cap = w->cap ? w->cap * 2 : 256;
		w->late = realloc(w->late, w->cap * sizeof *w->late);
		if (!w->late)
			abort();
	}
	w->late[w->nlate++] = (struct late){arena_text(&w->mem, f->path),
					    f->attr};
}

static int put_dir(struct writer *w, int dir, const char *name,
		   const struct vfs_found *f, struct err *e)
{
	defer_attributes(w, f);
	if (mkdirat(dir, name, 0700) && errno != EEXIST)
		return err_errno_set(e, "%s", f->path);
	return 0;
}

static int put_at(struct writer *w, int dir, const char *name,
		  const struct vfs_found *f, struct err *e)
{
	const struct vfs_attr *a = &f->attr;
	const char *first = (const char *)(uintptr_t)node_refs_count(&w->links,
								     a->ino);
	int rc;

	if (S_ISDIR(a->mode))
		return put_dir(w, dir, name, f, e);
	if (first)
		return linkat(w->root, first, dir, name, 0) ? cannot(f->path, e)
							    : 0;
	if (a->nlink > 1)
		node_refs_add(&w->links, a->ino,
			      (uintptr_t)arena_text(&w->mem, f->path));
	if (S_ISREG(a->mode))
		rc = put_file(w, dir, name, f, e);
	else if (S_ISLNK(a->mode))
		rc = put_link(w, dir, name, f, e);
	else
		rc = mknodat(dir, name, a->mode, a->rdev) ? cannot(f->path, e)
							  : 0;
	if (rc)
		return rc < 0 ? -1 : 0;
	return dress(w, dir, name, a, f->path, e);
}

static int put_dir_entry(void *arg, const struct vfs_found *f, struct err *e)
{
	struct writer *w = arg;
	const char *name;
	int dir, rc;

	if (vfs_skips_device(w->p, f->attr.mode))
		return 0;
	w->p->nodes++;
	vfs_transfer_report(w->p);
	if (!*f->path) {
		if (!S_ISDIR(f->attr.mode))
			return err_set(e, ERR_NOTDIR,
				       "only a directory can be exported");
		defer_attributes(w, f);
		return 0;
	}
	dir = parent_of(w, f->path, &name, e);
	if (dir < 0)
		return -1;
	rc = put_at(w, dir, name, f, e);
	close(dir);
	return rc;
}

/* A default ACL would apply to everything that is created below it, so the
 * attributes of a directory are set after its entries, and before its mode,
 * which may make it unreadable. */
static int dress_dir(struct writer *w, int dir, const char *name,
		     const struct late *l, struct err *e)
{
	int fd = openat(dir, name,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int rc;

	if (fd < 0)
		return err_errno_set(e, "%s", l->path);
	rc = set_xattrs(w, fd, l->attr.ino, e);
	close(fd);
	return rc ? -1 : dress(w, dir, name, &l->attr, l->path, e);
}

static int dress_dirs(struct writer *w, struct err *e)
{
	for (size_t i = w->nlate; i > 0; i--) {
		const struct late *l = &w->late[i - 1];
		const char *name;
		int dir = *l->path ? parent_of(w, l->path, &name, e) : w->root;
		int rc;

		if (dir < 0)
			return -1;
		rc = dress_dir(w, dir, *l->path ? name : ".", l, e);
		if (*l->path)
			close(dir);
		if (rc)
			return -1;
	}
	return 0;
}

int vfs_export_dir(struct vfs *v, const char *dir, struct vfs_transfer *p,
		   struct err *e)
{
	struct writer w = {.v = v, .p = p, .room = malloc(PIECE)};
	int rc = -1;

	if (!w.room)
		abort();
	p->nodes = p->bytes = p->lost = p->left_out = 0;
	if (file_make_dir(dir, 0700, e) == 0) {
		w.root = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
		rc = w.root < 0 ? err_errno_set(e, "%s", dir)
				: vfs_visit(v, p->path ? p->path : "",
					    put_dir_entry, &w, e);
		if (rc == 0)
			rc = dress_dirs(&w, e);
		if (rc == 0)
			rc = vfs_transfer_end(p, e);
		if (w.root >= 0)
			close(w.root);
	}
	node_refs_fini(&w.links);
	arena_fini(&w.mem);
	free(w.late);
	free(w.room);
	return rc;
}
