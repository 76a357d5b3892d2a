#include "vfs/transfer/transfer.h"

#include "lib/base/buf.h"
#include "lib/base/text.h"
#include "vfs/core/core.h"
#include "vfs/core/nanos.h"
#include "vfs/core/visit.h"
#include "vfs/transfer/libarchive.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PIECE (1 << 20)

struct writer {
	struct vfs *v;
	struct vfs_transfer *p;
	struct archive *a;
	char *room;
	/* The first path of each node that has several. */
	struct node_refs links;
	struct arena mem;
};

static int broken(struct writer *w, struct err *e)
{
	const char *why = libarchive.error_string(w->a);

	return err_set(e, ERR_IO, "cannot write the archive: %s",
		       why ? why : "unknown reason");
}

static int add_xattrs(struct writer *w, struct archive_entry *en, int64_t ino,
		      struct err *e)
{
	struct buf names = BUF_MAX(1 << 20), value = BUF_MAX(1 << 20);
	int rc = vfs_listxattr(w->v, ino, &names, e);

	for (size_t at = 0; rc == 0 && at < names.n;
	     at += strlen(names.p + at) + 1) {
		buf_clear(&value);
		rc = vfs_getxattr(w->v, ino, names.p + at, &value, e);
		if (rc == 0)
			libarchive.entry_xattr_add_entry(en, names.p + at,
							 value.p, value.n);
	}
	buf_fini(&names);
	buf_fini(&value);
	return rc;
}

static int add_target(struct writer *w, struct archive_entry *en, int64_t ino,
		      struct err *e)
{
	struct buf target = BUF_MAX(8192);
	int rc = vfs_readlink(w->v, ino, &target, e);

	if (rc == 0)
		libarchive.entry_set_symlink(en, target.p);
	buf_fini(&target);
	return rc;
}

static int fill_header(struct writer *w, struct archive_entry *en,
		       const struct vfs_found *f, struct err *e)
{
	const struct vfs_attr *a = &f->attr;
	struct timespec modified = nanos_spec(a->modified);
	struct timespec accessed = nanos_spec(a->accessed);
	const char *first;

	libarchive.entry_set_pathname(en, *f->path ? f->path : ".");
	libarchive.entry_set_mode(en, vfs_mode_out(a->mode, w->p->keep_setuid));
	libarchive.entry_set_uid(en, a->uid);
	libarchive.entry_set_gid(en, a->gid);
	libarchive.entry_set_rdev(en, a->rdev);
	libarchive.entry_set_mtime(en, modified.tv_sec, modified.tv_nsec);
	libarchive.entry_set_atime(en, accessed.tv_sec, accessed.tv_nsec);
	libarchive.entry_set_size(en, S_ISREG(a->mode) ? a->size : 0);
	if (S_ISLNK(a->mode))
		return add_target(w, en, a->ino, e);
	first = (const char *)(uintptr_t)node_refs_count(&w->links, a->ino);
	if (first) {
		libarchive.entry_set_hardlink(en, first);
		libarchive.entry_set_size(en, 0);
		return 0;
	}
	if (!S_ISDIR(a->mode) && a->nlink > 1)
		node_refs_add(&w->links, a->ino,
			      (uintptr_t)arena_text(&w->mem, f->path));
	return add_xattrs(w, en, a->ino, e);
}

static int write_data(struct writer *w, const struct vfs_attr *a, struct err *e)
{
	int64_t off = 0;
	ssize_t n;

	while (off < a->size) {
		n = vfs_pread(w->v, a->ino, w->room, PIECE, off, e);
		if (n <= 0)
			return n < 0 ? -1
				     : err_set(e, ERR_STALE,
					       "a file shrank during the "
					       "export");
		if (libarchive.write_data(w->a, w->room, (size_t)n) < 0)
			return broken(w, e);
		off += n;
		w->p->bytes += n;
		vfs_transfer_report(w->p);
	}
	return 0;
}

/* Content that the host has deleted or changed cannot be read. A header would
 * promise it, so it is read first; files of a lower directory are read
 * twice. */
static bool is_lost(struct writer *w, const struct vfs_found *f, int *rc,
		    struct err *e)
{
	ssize_t n = 1;

	if (!S_ISREG(f->attr.mode) || !vfs_base(w->v))
		return false;
	for (int64_t off = 0; n > 0; off += n)
		n = vfs_pread(w->v, f->attr.ino, w->room, PIECE, off, e);
	if (n == 0)
		return false;
	*rc = e->code == ERR_STALE ? 0 : -1;
	w->p->lost += *rc == 0;
	return true;
}

static int put_tar_entry(void *arg, const struct vfs_found *f, struct err *e)
{
	struct writer *w = arg;
	struct archive_entry *en;
	int rc;

	if (S_ISSOCK(f->attr.mode)) /* tar has no sockets */
		return 0;
	if (vfs_skips_device(w->p, f->attr.mode))
		return 0;
	if (is_lost(w, f, &rc, e))
		return rc;
	en = libarchive.entry_new();
	rc = fill_header(w, en, f, e);
	/* a warning concerns a name that is not UTF-8: it is kept */
	if (rc == 0 && libarchive.write_header(w->a, en) < ARCHIVE_WARN)
		rc = broken(w, e);
	if (rc == 0 && libarchive.entry_size(en) > 0)
		rc = write_data(w, &f->attr, e);
	libarchive.entry_free(en);
	w->p->nodes++;
	vfs_transfer_report(w->p);
	return rc;
}

int vfs_export_tar(struct vfs *v, int fd, struct vfs_transfer *p, struct err *e)
{
	struct writer w = {.v = v, .p = p, .room = malloc(PIECE)};
	int rc;

	if (!w.room)
		abort();
	if (libarchive_load(e)) {
		free(w.room);
		return -1;
	}
	w.a = libarchive.write_new();
	p->nodes = p->bytes = p->lost = p->left_out = 0;
	libarchive.write_set_format_pax(w.a);
	if (libarchive.write_open_fd(w.a, fd) != ARCHIVE_OK)
		rc = broken(&w, e);
	else
		rc = vfs_visit(v, p->path ? p->path : "", put_tar_entry, &w, e);
	if (rc == 0 && libarchive.write_close(w.a) != ARCHIVE_OK)
		rc = broken(&w, e);
	if (rc == 0)
		rc = vfs_transfer_end(p, e);
	libarchive.write_free(w.a);
	node_refs_fini(&w.links);
	arena_fini(&w.mem);
	free(w.room);
	return rc;
}
