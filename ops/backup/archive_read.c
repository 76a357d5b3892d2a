#include "ops/backup/archive_read.h"

#include "lib/base/text.h"
#include "lib/os/file.h"
#include "vfs/transfer/libarchive.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE (1 << 18)

struct unpack {
	struct archive *a;
	int fd;
	const char *name;
	struct hash *hash; /* of all but the last TRAILER_BYTES */
	int64_t bytes;
	bool over;
	size_t held; /* bytes at the start of room: possibly the trailer */
	struct err err;
	bool failed;
	char path[PATH_MAX]; /* of the current item */
	char last[TRAILER_BYTES];
	char room[TRAILER_BYTES + PIECE];
	char data[PIECE];
};

/* Fills room after the held bytes; the last TRAILER_BYTES are held back. Returns
 * how many bytes at the start of room may be passed on. */
static ssize_t more(struct unpack *u)
{
	size_t n;
	ssize_t got;

	memcpy(u->room, u->last, u->held);
	do {
		got = read(u->fd, u->room + u->held, PIECE);
	} while (got < 0 && errno == EINTR);
	if (got < 0) {
		u->failed = true;
		return err_errno_set(&u->err, "%s", u->name);
	}
	u->over = got == 0;
	u->bytes += got;
	n = u->held + (size_t)got;
	u->held = n < TRAILER_BYTES ? n : TRAILER_BYTES;
	memcpy(u->last, u->room + n - u->held, u->held);
	n -= u->held;
	hash_add(u->hash, u->room, n);
	return (ssize_t)n;
}

static la_ssize_t read_input(struct archive *a, void *arg, const void **p)
{
	struct unpack *u = arg;
	ssize_t n = 0;

	while (!u->over && n == 0)
		n = more(u);
	if (n < 0)
		libarchive.set_error(a, EIO, "%s", u->err.text);
	*p = u->room;
	return n;
}

static int broken(struct unpack *u, struct err *e)
{
	const char *why = libarchive.error_string(u->a);

	if (u->failed) {
		*e = u->err;
		return -1;
	}
	return err_set(e, ERR_CORRUPT, "%s is damaged or not a backup: %s",
		       u->name, why ? why : "unknown reason");
}

int unpack_new(struct unpack **out, int fd, const char *name, struct err *e)
{
	struct unpack *u;

	if (libarchive_load(e))
		return -1;
	u = calloc(1, sizeof *u);
	if (!u)
		abort();
	u->fd = fd;
	u->name = name;
	u->hash = hash_new();
	u->a = libarchive.read_new();
	if (!u->a)
		abort();
	libarchive.read_support_format_tar(u->a);
	libarchive.read_support_filter_zstd(u->a);
	if (libarchive.read_open(u->a, u, NULL, read_input, NULL) !=
	    ARCHIVE_OK) {
		broken(u, e);
		unpack_free(u);
		return -1;
	}
	*out = u;
	return 0;
}

void unpack_free(struct unpack *u)
{
	if (!u)
		return;
	libarchive.read_free(u->a);
	hash_free(u->hash);
	free(u);
}

static bool stays_inside(const char *path)
{
	if (!path || !*path || *path == '/')
		return false;
	for (const char *p = path; p;
	     p = strchr(p, '/') ? strchr(p, '/') + 1 : NULL)
		if (!strncmp(p, "..", 2) && (p[2] == '/' || !p[2]))
			return false;
	return true;
}

/* Paths of directories end in a slash. */
static int take_path(struct unpack *u, const char *path, struct err *e)
{
	size_t n;

	if (!stays_inside(path) || strlen(path) >= sizeof u->path)
		return err_set(e, ERR_CORRUPT,
			       "%s contains a path outside of the archive: "
			       "%s",
			       u->name, quoted(path ? path : "").text);
	n = (size_t)snprintf(u->path, sizeof u->path, "%s", path);
	while (n > 1 && u->path[n - 1] == '/')
		u->path[--n] = '\0';
	return 0;
}

int unpack_next(struct unpack *u, struct unpack_item *out, struct err *e)
{
	struct archive_entry *en;
	int rc = libarchive.read_next_header(u->a, &en);

	if (rc == ARCHIVE_EOF)
		return 0;
	if (rc != ARCHIVE_OK)
		return broken(u, e);
	if (take_path(u, libarchive.entry_pathname(en), e))
		return -1;
	*out = (struct unpack_item){
		.path = u->path,
		.link = libarchive.entry_symlink(en),
		.mode = libarchive.entry_mode(en),
		.bytes = libarchive.entry_size(en),
		.mtime_ns = (int64_t)libarchive.entry_mtime(en) * 1000000000 +
			    libarchive.entry_mtime_nsec(en),
	};
	return 1;
}

int unpack_data(struct unpack *u, int fd, const char *to, char sha256[HASH_HEX],
		struct err *e)
{
	struct hash *h = hash_new();
	la_ssize_t got;
	int rc = 0;

	while (!rc && (got = libarchive.read_data(u->a, u->data, PIECE)) > 0) {
		hash_add(h, u->data, (size_t)got);
		if (fd >= 0)
			rc = file_write_fd(fd, to, u->data, (size_t)got, e);
	}
	hash_end(h, sha256);
	return rc || got < 0 ? (rc ? -1 : broken(u, e)) : 0;
}

int unpack_end(struct unpack *u, struct err *e)
{
	char sha256[HASH_HEX];

	while (!u->over)
		if (more(u) < 0) {
			*e = u->err;
			return -1;
		}
	hash_end(u->hash, sha256);
	u->hash = NULL;
	return trailer_check(u->last, u->held, sha256, u->name, e);
}

int64_t unpack_read(const struct unpack *u)
{
	return u->bytes;
}
