#include "vfs/transfer/import.h"

#include "vfs/core/nanos.h"
#include "vfs/transfer/libarchive.h"

#include <string.h>
#include <sys/stat.h>

static int broken(struct archive *a, struct err *e)
{
	const char *why = libarchive.error_string(a);

	return err_set(e, ERR_INVALID, "cannot read it as an archive: %s",
		       why ? why : "unknown reason");
}

static struct vfs_attr attr_of(struct archive_entry *en)
{
	struct timespec modified = {libarchive.entry_mtime(en),
				    libarchive.entry_mtime_nsec(en)};
	struct timespec accessed = {libarchive.entry_atime(en),
				    libarchive.entry_atime_nsec(en)};

	return (struct vfs_attr){
		.mode = libarchive.entry_mode(en) & (S_IFMT | 07777),
		.uid = (uint32_t)libarchive.entry_uid(en),
		.gid = (uint32_t)libarchive.entry_gid(en),
		.rdev = libarchive.entry_rdev(en),
		.accessed = nanos_of(libarchive.entry_atime_is_set(en)
					     ? accessed
					     : modified),
		.modified = nanos_of(modified),
	};
}

static int read_data(struct import *im, struct archive *a, int64_t ino,
		     struct err *e)
{
	const void *p;
	size_t n;
	la_int64_t off;
	int rc;

	while ((rc = libarchive.read_data_block(a, &p, &n, &off)) == ARCHIVE_OK)
		if (n && import_data(im, ino, p, n, off, e))
			return -1;
	return rc == ARCHIVE_EOF ? 0 : broken(a, e);
}

/* A file that ends in a hole is longer than its last byte. */
static int set_size(struct import *im, struct archive_entry *en, int64_t ino,
		    struct err *e)
{
	struct vfs_set set = {.what = VFS_SET_SIZE,
			      .size = libarchive.entry_size(en)};
	struct vfs_attr a;

	if (vfs_getattr(im->v, ino, &a, e))
		return -1;
	return a.size >= set.size ? 0 : vfs_setattr(im->v, ino, &set, &a, e);
}

static int read_xattrs(struct import *im, struct archive_entry *en, int64_t ino,
		       struct err *e)
{
	const char *name;
	const void *value;
	size_t n;

	libarchive.entry_xattr_reset(en);
	while (libarchive.entry_xattr_next(en, &name, &value, &n) == ARCHIVE_OK)
		if (!strncmp(name, "user.", 5) &&
		    vfs_setxattr(im->v, ino, name, (struct blob){value, n}, 0,
				 e))
			return -1;
	return 0;
}

/* "./a/" and "/a" are "a". */
static const char *plain_path(struct import *im, const char *path)
{
	char *copy;
	size_t n;

	while (*path == '/' || (path[0] == '.' && path[1] == '/'))
		path++;
	if (!strcmp(path, "."))
		return "";
	n = strlen(path);
	while (n && path[n - 1] == '/')
		n--;
	copy = arena_textn(&im->mem, path, n);
	return copy;
}

static int import_entry(struct import *im, struct archive *a,
			struct archive_entry *en, struct err *e)
{
	const char *link = libarchive.entry_hardlink(en);
	const char *path = libarchive.entry_pathname(en);
	struct import_item item = {.attr = attr_of(en),
				   .target = libarchive.entry_symlink(en)};
	char copy[4096];
	int64_t ino;

	if (!path)
		return err_set(e, ERR_INVALID,
			       "the archive contains an invalid name");
	snprintf(copy, sizeof copy, "%s", plain_path(im, path));
	item.path = copy;
	if (link && import_find(im, plain_path(im, link), &item.same_as, e))
		return -1;
	if (import_item(im, &item, &ino, e))
		return -1;
	if (link && libarchive.entry_size(en) == 0)
		return 0;
	if (S_ISREG(item.attr.mode) &&
	    (read_data(im, a, ino, e) || set_size(im, en, ino, e)))
		return -1;
	if (read_xattrs(im, en, ino, e))
		return -1;
	return S_ISDIR(item.attr.mode) ? 0
				       : import_times(im, ino, &item.attr, e);
}

static int read_archive(struct import *im, struct archive *a, struct err *e)
{
	struct archive_entry *en;
	int rc;

	while ((rc = libarchive.read_next_header(a, &en)) == ARCHIVE_OK ||
	       rc == ARCHIVE_WARN)
		if (import_entry(im, a, en, e))
			return -1;
	return rc == ARCHIVE_EOF ? 0 : broken(a, e);
}

int vfs_import_tar(struct vfs *v, int fd, struct vfs_transfer *p, struct err *e)
{
	struct archive *a;
	struct import im;
	int rc;

	if (libarchive_load(e))
		return -1;
	a = libarchive.read_new();
	libarchive.read_support_filter_all(a);
	libarchive.read_support_format_tar(a);
	libarchive.read_support_format_empty(a);
	if (libarchive.read_open_fd(a, fd, 65536) != ARCHIVE_OK)
		rc = broken(a, e);
	else if ((rc = import_begin(&im, v, p, e)) == 0)
		rc = import_end(&im, read_archive(&im, a, e), e);
	libarchive.read_free(a);
	return rc;
}
