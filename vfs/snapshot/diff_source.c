#include "vfs/snapshot/diff_source.h"

#include "lib/os/open_files.h"
#include "vfs/core/core.h"
#include "vfs/core/lower.h"
#include "vfs/core/nanos.h"
#include "vfs/core/path.h"
#include "vfs/core/xattr_list.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE      (1 << 20)
#define XATTRS_MAX ((size_t)16 << 20)

static void attr_of(const struct stat *st, struct vfs_attr *out)
{
	*out = (struct vfs_attr){
		.ino = (int64_t)st->st_ino,
		.mode = st->st_mode,
		.nlink = (uint32_t)st->st_nlink,
		.uid = st->st_uid,
		.gid = st->st_gid,
		.rdev = st->st_rdev,
		.size = S_ISDIR(st->st_mode) ? 0 : st->st_size,
		.accessed = nanos_of(st->st_atim),
		.modified = nanos_of(st->st_mtim),
		.changed = nanos_of(st->st_ctim),
	};
}

static void full_path(const struct diff_source *s, const char *path,
		      struct buf *out)
{
	buf_adds(out, s->dir);
	if (*path)
		buf_addf(out, "/%s", path);
}

static int lower_attr(const struct diff_source *s, const char *path,
		      struct vfs_attr *out, struct err *e)
{
	struct buf full = BUF_MAX(1 << 20);
	struct stat st;
	int rc;

	full_path(s, path, &full);
	rc = lstat(full.p, &st);
	if (rc && errno != ENOENT && errno != ENOTDIR)
		err_errno_set(e, "%s", full.p);
	else
		rc = rc ? 0 : 1;
	buf_fini(&full);
	if (rc > 0)
		attr_of(&st, out);
	return rc;
}

int diff_source_attr(const struct diff_source *s, const char *path,
		     struct vfs_attr *out, struct err *e)
{
	struct err why;

	if (!s->v)
		return lower_attr(s, path, out, e);
	if (!vfs_walk(s->v, path, VFS_NOFOLLOW, out, &why))
		return 1;
	if (why.code == ERR_NOTFOUND || why.code == ERR_NOTDIR)
		return 0;
	*e = why;
	return -1;
}

static int by_name(const void *a, const void *b)
{
	const struct diff_source_entry *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static void add_entry(struct diff_source_entry **list, size_t *n, size_t *cap,
		      struct diff_source_entry entry)
{
	if (*n == *cap) {
		*cap = *cap ? *cap * 2 : 64;
		*list = realloc(*list, *cap * sizeof **list);
		if (!*list)
			abort();
	}
	(*list)[(*n)++] = entry;
}

static int lower_list(const char *dir, struct diff_source_entry **list,
		      size_t *n, struct arena *a, struct err *e)
{
	DIR *d = opendir(dir);
	struct dirent *en;
	size_t cap = 0;

	if (!d)
		return err_errno_set(e, "%s", dir);
	while ((en = readdir(d))) {
		struct diff_source_entry one = {
			.name = arena_text(a, en->d_name)};
		struct stat st;

		if (!strcmp(en->d_name, ".") || !strcmp(en->d_name, "..") ||
		    fstatat(dirfd(d), en->d_name, &st, AT_SYMLINK_NOFOLLOW))
			continue;
		attr_of(&st, &one.attr);
		add_entry(list, n, &cap, one);
	}
	closedir(d);
	return 0;
}

static int vfs_list(struct vfs *v, int64_t ino, struct diff_source_entry **list,
		    size_t *n, struct arena *a, struct err *e)
{
	struct vfs_dir d;
	size_t cap = 0;

	if (vfs_readdir(v, ino, &d, e))
		return -1;
	for (size_t i = 0; i < d.n; i++) {
		struct diff_source_entry one = {
			.name = arena_text(a, d.entries[i].name)};
		struct err gone;

		if (!vfs_getattr(v, d.entries[i].ino, &one.attr, &gone))
			add_entry(list, n, &cap, one);
	}
	vfs_dir_fini(&d);
	return 0;
}

int diff_source_list(const struct diff_source *s, const char *path, int64_t ino,
		     struct diff_source_entry **out, struct arena *a,
		     struct err *e)
{
	struct buf full = BUF_MAX(1 << 20);
	struct diff_source_entry *list = NULL;
	size_t n = 0;
	int rc;

	if (s->v) {
		rc = vfs_list(s->v, ino, &list, &n, a, e);
	} else {
		full_path(s, path, &full);
		rc = lower_list(full.p, &list, &n, a, e);
		buf_fini(&full);
	}
	if (n)
		qsort(list, n, sizeof *list, by_name);
	*out = n ? arena_copy(a, list, n * sizeof *list) : NULL;
	free(list);
	return rc ? -1 : (int)n;
}

/* An open content that is read in pieces: fd of the host, or -1. */
static ssize_t read_piece(const struct diff_source *s, int fd,
			  const struct vfs_attr *a, char *p, int64_t off,
			  struct err *e)
{
	ssize_t n;

	if (s->v)
		return vfs_pread(s->v, a->ino, p, PIECE, off, e);
	n = pread(fd, p, PIECE, off);
	return n < 0 ? err_errno_set(e, "cannot read a file in %s", s->dir) : n;
}

static int open_host(const struct diff_source *s, const char *path,
		     struct err *e)
{
	struct buf full = BUF_MAX(1 << 20);
	int fd;

	if (s->v)
		return 0;
	full_path(s, path, &full);
	fd = open_files_openat(AT_FDCWD, full.p,
			       O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		err_errno_set(e, "%s", full.p);
	buf_fini(&full);
	return fd;
}

static void close_host(const struct diff_source *s, int fd)
{
	if (!s->v && fd >= 0)
		close(fd);
}

static int link_content(const struct diff_source *s, const char *path,
			const struct vfs_attr *a, struct buf *out,
			struct err *e)
{
	struct buf full = BUF_MAX(1 << 20);
	char target[4096];
	ssize_t n;

	if (s->v)
		return vfs_readlink(s->v, a->ino, out, e);
	full_path(s, path, &full);
	n = readlink(full.p, target, sizeof target);
	if (n < 0)
		err_errno_set(e, "%s", full.p);
	else
		buf_add(out, target, (size_t)n);
	buf_fini(&full);
	return n < 0 ? -1 : 0;
}

int diff_source_content(const struct diff_source *s, const char *path,
			const struct vfs_attr *a, struct buf *out,
			struct err *e)
{
	int64_t off = 0;
	ssize_t n = 0;
	int fd;

	if (S_ISLNK(a->mode))
		return link_content(s, path, a, out, e);
	if (!S_ISREG(a->mode))
		return 0;
	fd = open_host(s, path, e);
	if (fd < 0)
		return -1;
	do {
		char *room = buf_room(out, PIECE);

		if (!room)
			break;
		n = read_piece(s, fd, a, room, off, e);
		if (n > 0) {
			buf_grew(out, (size_t)n);
			off += n;
		}
	} while (n > 0);
	close_host(s, fd);
	return n < 0 ? -1 : buf_ok(out, path, e);
}

/* Both have the same blobs at the same positions, so nothing has to be read. */
static int share_all(const struct diff_source *a, const struct diff_source *b,
		     const struct vfs_attr *aa, const struct vfs_attr *ab,
		     struct err *e)
{
	struct node na, nb;

	if (!a->v || !b->v || a->v->db != b->v->db)
		return 0;
	if (node_get(a->v, aa->ino, &na, e) || node_get(b->v, ab->ino, &nb, e))
		return -1;
	if (na.lower_size != OPT_NONE || nb.lower_size != OPT_NONE)
		return 0;
	for (int64_t i = 0; i * VFS_CHUNK < aa->size; i++) {
		int64_t x, y;

		if (chunk_get(a->v, &na, i, &x, e) ||
		    chunk_get(b->v, &nb, i, &y, e))
			return -1;
		if (x != y)
			return 0;
	}
	return 1;
}

static int same_bytes(const struct diff_source *a, const struct diff_source *b,
		      const char *path, const struct vfs_attr *aa,
		      const struct vfs_attr *ab, struct err *e)
{
	char *pa = malloc(PIECE), *pb = malloc(PIECE);
	int fa = open_host(a, path, e), fb = open_host(b, path, e);
	int same = fa < 0 || fb < 0 ? -1 : 1;
	int64_t off = 0;

	if (!pa || !pb)
		abort();
	while (same > 0) {
		ssize_t x = read_piece(a, fa, aa, pa, off, e);
		ssize_t y = read_piece(b, fb, ab, pb, off, e);

		if (x < 0 || y < 0)
			same = -1;
		else if (x != y || memcmp(pa, pb, (size_t)x) != 0)
			same = 0;
		else if (x == 0)
			break;
		else
			off += x;
	}
	close_host(a, fa);
	close_host(b, fb);
	free(pa);
	free(pb);
	return same;
}

static int same_link(const struct diff_source *a, const struct diff_source *b,
		     const char *path, const struct vfs_attr *aa,
		     const struct vfs_attr *ab, struct err *e)
{
	struct buf x = BUF_MAX(8192), y = BUF_MAX(8192);
	int same = -1;

	if (!link_content(a, path, aa, &x, e) &&
	    !link_content(b, path, ab, &y, e))
		same = x.n == y.n && !memcmp(x.p, y.p, x.n);
	buf_fini(&x);
	buf_fini(&y);
	return same;
}

static int xattrs_at(const struct diff_source *s, const char *path,
		     const struct vfs_attr *a, bool portable, struct buf *out,
		     struct err *e)
{
	struct buf full = BUF_MAX(1 << 20);
	struct node n;
	int rc;

	if (s->v)
		return node_get(s->v, a->ino, &n, e)
			       ? -1
			       : xattrs_of_node(s->v, &n, portable, out, e);
	full_path(s, path, &full);
	rc = xattrs_of_host(full.p, out, e);
	buf_fini(&full);
	return rc;
}

int diff_source_same_xattrs(const struct diff_source *a,
			    const struct diff_source *b, const char *path,
			    const struct vfs_attr *aa,
			    const struct vfs_attr *ab, struct err *e)
{
	struct buf x = BUF_MAX(XATTRS_MAX), y = BUF_MAX(XATTRS_MAX);
	bool portable = !a->v || !b->v;
	int same = -1;

	if (S_ISLNK(aa->mode))
		return 1;
	if (!xattrs_at(a, path, aa, portable, &x, e) &&
	    !xattrs_at(b, path, ab, portable, &y, e))
		same = x.n == y.n && (x.n == 0 || !memcmp(x.p, y.p, x.n));
	buf_fini(&x);
	buf_fini(&y);
	return same;
}

int diff_source_same(const struct diff_source *a, const struct diff_source *b,
		     const char *path, const struct vfs_attr *aa,
		     const struct vfs_attr *ab, struct err *e)
{
	int shared;

	if (S_ISLNK(aa->mode))
		return same_link(a, b, path, aa, ab, e);
	if (!S_ISREG(aa->mode))
		return aa->rdev == ab->rdev;
	shared = share_all(a, b, aa, ab, e);
	return shared ? shared : same_bytes(a, b, path, aa, ab, e);
}

int diff_source_same_at(const struct diff_source *a,
			const struct diff_source *b, const char *path,
			struct err *e)
{
	struct vfs_attr x, y;
	int same, ha = diff_source_attr(a, path, &x, e);
	int hb = ha < 0 ? -1 : diff_source_attr(b, path, &y, e);

	if (ha < 0 || hb < 0)
		return -1;
	if (!ha || !hb)
		return ha == hb;
	if ((x.mode & S_IFMT) != (y.mode & S_IFMT))
		return 0;
	if (S_ISDIR(x.mode))
		return 1;
	if (x.mode != y.mode || x.size != y.size || x.uid != y.uid ||
	    x.gid != y.gid)
		return 0;
	same = diff_source_same_xattrs(a, b, path, &x, &y, e);
	return same > 0 ? diff_source_same(a, b, path, &x, &y, e) : same;
}
