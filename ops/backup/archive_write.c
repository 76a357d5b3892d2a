#include "ops/backup/archive_write.h"

#include "lib/base/clock.h"
#include "lib/os/file.h"
#include "lib/os/open_files.h"
#include "vfs/transfer/libarchive.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE (1 << 18)

struct pack {
	struct archive *a;
	int fd;
	const char *name;
	struct hash *hash; /* of everything written */
	int64_t bytes;
	struct err err; /* of the last write to fd */
	bool failed, dropped;
	char room[PIECE];
};

static la_ssize_t write_output(struct archive *a, void *arg, const void *p,
			       size_t n)
{
	struct pack *k = arg;

	if (k->dropped)
		return (la_ssize_t)n;
	if (file_write_fd(k->fd, k->name, p, n, &k->err)) {
		k->failed = true;
		libarchive.set_error(a, EIO, "%s", k->err.text);
		return -1;
	}
	hash_add(k->hash, p, n);
	k->bytes += (int64_t)n;
	return (la_ssize_t)n;
}

static int broken(struct pack *k, struct err *e)
{
	const char *why = libarchive.error_string(k->a);

	if (k->failed)
		*e = k->err;
	else
		err_set(e, ERR_IO, "cannot write %s: %s", k->name,
			why ? why : "unknown reason");
	return -1;
}

int pack_new(struct pack **out, int fd, const char *name, bool zstd,
	     struct err *e)
{
	struct pack *k;

	if (libarchive_load(e))
		return -1;
	k = calloc(1, sizeof *k);
	if (!k)
		abort();
	*k = (struct pack){.fd = fd, .name = name};
	k->a = libarchive.write_new();
	k->hash = hash_new();
	if (!k->a)
		abort();
	libarchive.write_set_format_pax_restricted(k->a);
	/* zeros at the end of a compressed stream would not be part of it */
	libarchive.write_set_bytes_in_last_block(k->a, 1);
	if ((zstd && libarchive.write_add_filter_zstd(k->a) != ARCHIVE_OK) ||
	    libarchive.write_open(k->a, k, NULL, write_output, NULL) !=
		    ARCHIVE_OK) {
		broken(k, e);
		pack_free(k);
		return -1;
	}
	*out = k;
	return 0;
}

void pack_free(struct pack *k)
{
	if (!k)
		return;
	k->dropped = true; /* further output is discarded */
	libarchive.write_free(k->a);
	hash_free(k->hash);
	free(k);
}

static int begin_entry(struct pack *k, const char *path, const struct stat *st,
		       const char *link, struct err *e)
{
	struct archive_entry *en = libarchive.entry_new();
	int rc;

	libarchive.entry_set_pathname(en, path);
	libarchive.entry_set_mode(en, st->st_mode);
	libarchive.entry_set_size(en, S_ISREG(st->st_mode) ? st->st_size : 0);
	libarchive.entry_set_mtime(en, st->st_mtim.tv_sec, st->st_mtim.tv_nsec);
	if (link)
		libarchive.entry_set_symlink(en, link);
	rc = libarchive.write_header(k->a, en);
	libarchive.entry_free(en);
	return rc == ARCHIVE_OK ? 0 : broken(k, e);
}

static int add_bytes(struct pack *k, const void *p, size_t n, struct hash *h,
		     struct err *e)
{
	if (libarchive.write_data(k->a, p, n) != (la_ssize_t)n)
		return broken(k, e);
	if (h)
		hash_add(h, p, n);
	return 0;
}

/* The header states `left` bytes, whatever the file has now. */
static int copy_file(struct pack *k, int fd, int64_t left, struct hash *h,
		     struct err *e)
{
	while (left > 0) {
		size_t want = left < PIECE ? (size_t)left : PIECE;
		ssize_t got = read(fd, k->room, want);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			memset(k->room, 0, want);
			got = (ssize_t)want;
		}
		if (add_bytes(k, k->room, (size_t)got, h, e))
			return -1;
		left -= got;
	}
	return 0;
}

int pack_file(struct pack *k, const char *path, const char *from,
	      struct pack_sum *out, struct err *e)
{
	int fd = open_files_openat(AT_FDCWD, from, O_RDONLY | O_CLOEXEC);
	struct hash *h = hash_new();
	struct stat st;
	int rc;

	rc = fd < 0 || fstat(fd, &st) ? err_errno_set(e, "%s", from) : 0;
	if (!rc) {
		st.st_mode = S_IFREG | 0600;
		rc = begin_entry(k, path, &st, NULL, e) ||
		     copy_file(k, fd, st.st_size, h, e);
		out->bytes = st.st_size;
	}
	hash_end(h, out->sha256);
	if (fd >= 0)
		close(fd);
	return rc ? -1 : 0;
}

int pack_bytes(struct pack *k, const char *path, const void *bytes, size_t n,
	       struct pack_sum *out, struct err *e)
{
	struct stat st = {.st_mode = S_IFREG | 0600, .st_size = (off_t)n};

	st.st_mtim.tv_sec = clock_now() / 1000;
	out->bytes = (int64_t)n;
	hash_of(bytes, n, out->sha256);
	return begin_entry(k, path, &st, NULL, e) ||
			       add_bytes(k, bytes, n, NULL, e)
		       ? -1
		       : 0;
}

/* --- trees ------------------------------------------------------------ */

struct tree_item {
	const char *path; /* in the archive */
	const char *real;
	const struct stat *st;
};

/* 1 if it could not be read. */
static int add_item(struct pack *k, const struct tree_item *it, struct err *e)
{
	char target[PATH_MAX] = "";
	int fd = -1, rc;

	if (S_ISLNK(it->st->st_mode) &&
	    readlink(it->real, target, sizeof target - 1) < 0)
		return 1;
	if (S_ISREG(it->st->st_mode)) {
		fd = open_files_openat(AT_FDCWD, it->real,
				       O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			return 1;
	}
	rc = begin_entry(k, it->path, it->st, *target ? target : NULL, e);
	if (!rc && fd >= 0)
		rc = copy_file(k, fd, it->st->st_size, NULL, e);
	if (fd >= 0)
		close(fd);
	return rc;
}

/* libarchive walks the tree: no recursion of ours, any depth. */
static int add_directory(struct pack *k, struct archive *disk, const char *path,
			 const char *dir, int64_t *skipped, struct err *e)
{
	struct archive_entry *en = libarchive.entry_new();
	int rc = 0, got;

	while (!rc &&
	       (got = libarchive.read_next_header2(disk, en)) != ARCHIVE_EOF) {
		const char *real = libarchive.entry_sourcepath(en);
		mode_t mode = libarchive.entry_mode(en);
		char inside[PATH_MAX];

		if (got != ARCHIVE_OK && got != ARCHIVE_WARN) {
			++*skipped;
			break;
		}
		libarchive.read_disk_descend(disk);
		snprintf(inside, sizeof inside, "%s%s", path,
			 real + strlen(dir));
		if (!S_ISREG(mode) && !S_ISDIR(mode) && !S_ISLNK(mode))
			rc = 1;
		else
			rc = add_item(
				k,
				&(struct tree_item){inside, real,
						    libarchive.entry_stat(en)},
				e);
		*skipped += rc > 0;
		rc = rc < 0 ? -1 : 0;
	}
	libarchive.entry_free(en);
	return rc;
}

int pack_tree(struct pack *k, const char *path, const char *dir,
	      int64_t *skipped, struct err *e)
{
	struct archive *disk = libarchive.read_disk_new();
	int rc;

	libarchive.read_disk_set_symlink_physical(disk);
	libarchive.read_disk_set_behavior(disk,
					  ARCHIVE_READDISK_NO_TRAVERSE_MOUNTS |
						  ARCHIVE_READDISK_NO_XATTR |
						  ARCHIVE_READDISK_NO_ACL |
						  ARCHIVE_READDISK_NO_FFLAGS);
	if (libarchive.read_disk_open(disk, dir) != ARCHIVE_OK)
		rc = err_set(e, ERR_IO, "%s: %s", dir,
			     libarchive.error_string(disk));
	else
		rc = add_directory(k, disk, path, dir, skipped, e);
	libarchive.read_free(disk);
	return rc;
}

/* --- the end ---------------------------------------------------------- */

int pack_end(struct pack *k, struct pack_sum *out, struct err *e)
{
	char block[TRAILER_BYTES];

	if (libarchive.write_close(k->a) != ARCHIVE_OK)
		return broken(k, e);
	hash_end(k->hash, out->sha256);
	k->hash = NULL;
	trailer_make(block, out->sha256);
	out->bytes = k->bytes + TRAILER_BYTES;
	return file_write_fd(k->fd, k->name, block, sizeof block, e);
}
