#include "vfs/transfer/import.h"

#include "lib/os/open_files.h"
#include "vfs/core/core.h"
#include "vfs/core/nanos.h"
#include "vfs/core/xattr_list.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define PIECE (1 << 20)

struct reader {
	struct import im;
	size_t root_n; /* length of the path of the directory itself */
	char *room;
	char names[65536];      /* of a file's attributes */
	struct node_refs links; /* host inode -> our number, of linked files */
};

/* The attributes in a list; path is not a link. */
static int read_xattrs(struct reader *r, const char *path, int64_t ino,
		       ssize_t n, struct err *e)
{
	for (char *p = r->names; n > 0 && p < r->names + n;
	     p += strlen(p) + 1) {
		ssize_t got;

		if (!xattr_is_portable(p))
			continue;
		got = lgetxattr(path, p, r->room, PIECE);
		if (got >= 0 &&
		    vfs_setxattr(r->im.v, ino, p,
				 (struct blob){r->room, (size_t)got}, 0, e))
			return -1;
	}
	return 0;
}

static int read_file(struct reader *r, const char *path, int64_t ino,
		     struct err *e)
{
	int fd = open_files_openat(AT_FDCWD, path,
				   O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	int64_t off = 0;
	ssize_t n = PIECE;
	int rc = 0;

	if (fd < 0)
		return err_errno_set(e, "%s", path);
	while (rc == 0 && n == PIECE) { /* less: the end of the file */
		n = read(fd, r->room, PIECE);
		if (n > 0)
			rc = import_data(&r->im, ino, r->room, (size_t)n, off,
					 e);
		off += n;
	}
	if (n < 0)
		rc = err_errno_set(e, "%s", path);
	n = flistxattr(fd, r->names, sizeof r->names);
	close(fd);
	return rc ? rc : read_xattrs(r, path, ino, n, e);
}

static int read_other(struct reader *r, const char *path, mode_t mode,
		      int64_t ino, struct err *e)
{
	if (S_ISLNK(mode))
		return 0;
	return read_xattrs(r, path, ino,
			   llistxattr(path, r->names, sizeof r->names), e);
}

static struct import_item item_of(struct reader *r, const FTSENT *f,
				  const char *target)
{
	const struct stat *st = f->fts_statp;
	struct import_item item = {
		.path = f->fts_path + r->root_n,
		.attr = {.mode = st->st_mode,
			 .uid = st->st_uid,
			 .gid = st->st_gid,
			 .rdev = st->st_rdev,
			 .accessed = nanos_of(st->st_atim),
			 .modified = nanos_of(st->st_mtim)},
		.target = target,
	};

	while (*item.path == '/')
		item.path++;
	if (!S_ISDIR(st->st_mode) && st->st_nlink > 1)
		item.same_as = (int64_t)node_refs_count(&r->links,
							(int64_t)st->st_ino);
	return item;
}

static int import_entry(struct reader *r, const FTSENT *f, struct err *e)
{
	const struct stat *st = f->fts_statp;
	char target[4096] = "";
	struct import_item item = item_of(r, f, target);
	int64_t ino;

	if (S_ISLNK(st->st_mode)) {
		ssize_t n = readlink(f->fts_accpath, target, sizeof target - 1);

		if (n < 0)
			return err_errno_set(e, "%s", f->fts_path);
		target[n] = '\0';
	}
	if (import_item(&r->im, &item, &ino, e))
		return -1;
	if (item.same_as)
		return 0;
	if (!S_ISDIR(st->st_mode) && st->st_nlink > 1)
		node_refs_add(&r->links, (int64_t)st->st_ino, (uint64_t)ino);
	if (S_ISREG(st->st_mode)
		    ? read_file(r, f->fts_accpath, ino, e)
		    : read_other(r, f->fts_accpath, st->st_mode, ino, e))
		return -1;
	return S_ISDIR(st->st_mode) ? 0
				    : import_times(&r->im, ino, &item.attr, e);
}

static int read_tree(struct reader *r, FTS *fts, struct err *e)
{
	FTSENT *f;

	while ((f = fts_read(fts))) {
		switch (f->fts_info) {
		case FTS_DP:
			continue;
		case FTS_DNR:
		case FTS_ERR:
		case FTS_NS:
			errno = f->fts_errno;
			return err_errno_set(e, "%s", f->fts_path);
		default:
			if (import_entry(r, f, e))
				return -1;
		}
	}
	return 0;
}

/* In the order of the directory's index: otherwise each name is on another
 * page. */
static int by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

int vfs_import_dir(struct vfs *v, const char *dir, struct vfs_transfer *p,
		   struct err *e)
{
	char *full = realpath(dir, NULL), *paths[] = {full, NULL};
	struct reader r = {.room = malloc(PIECE)};
	FTS *fts;
	int rc;

	if (!full) {
		free(r.room);
		return err_errno_set(e, "%s", dir);
	}
	if (!r.room)
		abort();
	r.root_n = strlen(full);
	fts = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
	rc = fts ? import_begin(&r.im, v, p, e) : err_errno_set(e, "%s", dir);
	if (rc == 0)
		rc = import_end(&r.im, read_tree(&r, fts, e), e);
	if (fts)
		fts_close(fts);
	node_refs_fini(&r.links);
	free(r.room);
	free(full);
	return rc;
}
