#include "vfs/fuse/internal.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/*
 * Listings of directories. The offset of an entry is a cookie
 * (vfs/core/cookie.h): the kernel may continue from any offset in any handle,
 * also after it has dropped the listing that it had cached. A handle reads the
 * directory once, when it is rewound or first needed.
 */
#define ROOM_MAX (1 << 20)

enum { OFF_SELF = 1, OFF_PARENT = 2 }; /* "." and "..": below every cookie */

struct listing {
	struct vfs_dir dir;
	int64_t *cookie; /* of each entry, increasing; NULL: not read yet */
};

static void listing_fini(struct listing *l)
{
	vfs_dir_fini(&l->dir);
	free(l->cookie);
	l->cookie = NULL;
}

static int listing_read(struct listing *l, struct mnt *m, int64_t dir,
			struct err *e)
{
	listing_fini(l);
	if (vfs_readdir(m->v, dir, &l->dir, e))
		return -1;
	l->cookie = cookies_sort(&m->cookies, dir, l->dir.entries, l->dir.n);
	return 0;
}

/* The first entry after an offset. */
static size_t listing_after(const struct listing *l, int64_t off)
{
	size_t lo = 0, hi = l->dir.n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (l->cookie[mid] > off)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

static struct listing *listing_of(const struct fuse_file_info *fi)
{
	return (struct listing *)(uintptr_t)fi->fh;
}

static void do_opendir(fuse_req_t req, fuse_ino_t ino,
		       struct fuse_file_info *fi)
{
	struct listing *l = calloc(1, sizeof *l);

	(void)ino;
	if (!l) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	fi->fh = (uint64_t)(uintptr_t)l;
	fi->cache_readdir = fi->keep_cache = !mnt_of(req)->shared;
	fuse_reply_open(req, fi);
}

static void do_releasedir(fuse_req_t req, fuse_ino_t ino,
			  struct fuse_file_info *fi)
{
	(void)ino;
	listing_fini(listing_of(fi));
	free(listing_of(fi));
	fuse_reply_err(req, 0);
}

/* One reply under construction. */
struct reply {
	fuse_req_t req;
	char *room;
	size_t used, size;
	bool plus;
};

static size_t add_plain(const struct reply *r, const struct vfs_entry *en,
			off_t off)
{
	struct stat st = {.st_ino = (ino_t)en->ino,
			  .st_mode = (mode_t)en->type << 12};

	return fuse_add_direntry(r->req, r->room + r->used, r->size - r->used,
				 en->name, &st, off);
}

/* An entry that no longer exists takes no space. */
static size_t add_plus(const struct reply *r, const struct vfs_entry *en,
		       off_t off)
{
	struct mnt *m = mnt_of(r->req);
	struct fuse_entry_param param = {0};
	struct vfs_attr a;
	struct err e;

	if (fuse_add_direntry_plus(r->req, NULL, 0, en->name, NULL, 0) >
	    r->size - r->used)
		return r->size + 1;
	if (off <= OFF_PARENT) {
		param.attr.st_ino = (ino_t)en->ino;
		param.attr.st_mode = S_IFDIR;
	} else if (vfs_getattr(m->v, en->ino, &a, &e)) {
		return 0;
	} else {
		mnt_entry(m, &a, &param);
	}
	return fuse_add_direntry_plus(r->req, r->room + r->used,
				      r->size - r->used, en->name, &param, off);
}

/* False when the reply is full. */
static bool add_entry(struct reply *r, const struct vfs_entry *en, off_t off)
{
	size_t n = (r->plus ? add_plus : add_plain)(r, en, off);

	if (n > r->size - r->used)
		return false;
	r->used += n;
	return true;
}

static void add_entries(struct reply *r, const struct listing *l, int64_t self,
			int64_t off)
{
	struct vfs_entry dot = {self, DT_DIR, "."}, dots = {self, DT_DIR, ".."};

	if (off < OFF_SELF && !add_entry(r, &dot, OFF_SELF))
		return;
	if (off < OFF_PARENT && !add_entry(r, &dots, OFF_PARENT))
		return;
	for (size_t i = listing_after(l, off);
	     i < l->dir.n && add_entry(r, &l->dir.entries[i], l->cookie[i]);
	     i++)
		;
}

static void list_directory(struct reply *r, fuse_ino_t ino, off_t off,
			   struct listing *l)
{
	struct mnt *m = mnt_of(r->req);
	struct err e;

	if (mnt_read(m, r->req))
		return;
	if ((off == 0 || !l->cookie) && listing_read(l, m, ino_of(ino), &e)) {
		mnt_fail(r->req, &e);
		return;
	}
	if (r->size > ROOM_MAX)
		r->size = ROOM_MAX;
	r->room = malloc(r->size);
	if (!r->room)
		abort();
	add_entries(r, l, ino_of(ino), off);
	fuse_reply_buf(r->req, r->room, r->used);
	if (r->used == 0) /* the end */
		listing_fini(l);
	free(r->room);
}

static void do_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		       struct fuse_file_info *fi)
{
	struct reply r = {.req = req, .size = size};

	list_directory(&r, ino, off, listing_of(fi));
}

static void do_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size,
			   off_t off, struct fuse_file_info *fi)
{
	struct reply r = {.req = req, .size = size, .plus = true};

	list_directory(&r, ino, off, listing_of(fi));
}

void fuse_dir_ops(struct fuse_lowlevel_ops *ops)
{
	ops->opendir = do_opendir;
	ops->readdir = do_readdir;
	ops->readdirplus = do_readdirplus;
	ops->releasedir = do_releasedir;
}
