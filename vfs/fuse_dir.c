#include "vfs/fuse_core.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/*
 * Directories as lists. The offset of an entry is a cookie that follows from
 * the entry alone: the node's number, then a hash of the name. So the kernel
 * may continue from any offset in any handle, also after it has dropped the
 * listing that it had cached, and names that come or go meanwhile move no other
 * name. A handle reads the directory once, when it is rewound or first needed.
 */
#define ROOM_MAX  (1 << 20)
#define HASH_BITS 22

enum { OFF_SELF = 1, OFF_PARENT = 2 }; /* "." and "..": below every cookie */

struct listing {
	struct vfs_dir dir;
	int64_t *cookie; /* of each entry, increasing; NULL: not read yet */
};

static int64_t cookie_of(const struct vfs_entry *en)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325); /* FNV-1a */

	for (const char *p = en->name; *p; p++)
		h = (h ^ (unsigned char)*p) * UINT64_C(0x100000001b3);
	h ^= h >> 32;
	return en->ino << HASH_BITS |
	       (int64_t)(h & ((UINT64_C(1) << HASH_BITS) - 1));
}

static int by_cookie(const void *a, const void *b)
{
	const struct vfs_entry *x = a, *y = b;
	int64_t cx = cookie_of(x), cy = cookie_of(y);

	if (cx != cy)
		return cx < cy ? -1 : 1;
	return strcmp(x->name, y->name);
}

static void listing_fini(struct listing *l)
{
	vfs_dir_fini(&l->dir);
	free(l->cookie);
	l->cookie = NULL;
}

static int listing_read(struct listing *l, struct vfs *v, int64_t dir,
			struct err *e)
{
	int64_t last = OFF_PARENT;

	listing_fini(l);
	if (vfs_readdir(v, dir, &l->dir, e))
		return -1;
	l->cookie = calloc(l->dir.n + 1, sizeof *l->cookie);
	if (!l->cookie)
		abort();
	if (l->dir.n)
		qsort(l->dir.entries, l->dir.n, sizeof *l->dir.entries,
		      by_cookie);
	for (size_t i = 0; i < l->dir.n; i++) {
		int64_t c = cookie_of(&l->dir.entries[i]);

		/* two names of one node whose hashes are the same */
		last = l->cookie[i] = c > last ? c : last + 1;
	}
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
	fi->cache_readdir = 1;
	fi->keep_cache = 1;
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

/* An entry that is gone by now takes no room. */
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

static void list(struct reply *r, fuse_ino_t ino, off_t off, struct listing *l)
{
	struct mnt *m = mnt_of(r->req);
	struct err e;

	if (mnt_read(m, r->req))
		return;
	if ((off == 0 || !l->cookie) &&
	    listing_read(l, m->v, ino_of(ino), &e)) {
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

	list(&r, ino, off, listing_of(fi));
}

static void do_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size,
			   off_t off, struct fuse_file_info *fi)
{
	struct reply r = {.req = req, .size = size, .plus = true};

	list(&r, ino, off, listing_of(fi));
}

void fuse_dir_ops(struct fuse_lowlevel_ops *ops)
{
	ops->opendir = do_opendir;
	ops->readdir = do_readdir;
	ops->readdirplus = do_readdirplus;
	ops->releasedir = do_releasedir;
}
