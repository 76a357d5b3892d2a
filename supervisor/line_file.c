#include "supervisor/line_file.h"

#include "base/clock.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOOK_MS 10
#define PIECE   (1u << 20)

/* --- the lock --------------------------------------------------------- */

static int open_plain(const struct line_file *f, struct err *e)
{
	int fd = open(f->path,
		      O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW |
			      O_NONBLOCK | O_NOCTTY,
		      0600);
	struct stat st;

	if (fd < 0 && errno == ELOOP)
		return err_set(e, ERR_INVALID,
			       "%s is a symbolic link: set path to the file "
			       "itself",
			       f->path);
	if (fd < 0)
		return err_errno_set(e, "%s", f->path);
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return fd;
	close(fd);
	return err_set(e, ERR_INVALID, "%s is no plain file", f->path);
}

static int lock(const struct line_file *f, int fd, int how, struct err *e)
{
	int64_t until = clock_now() + f->patience_ms;

	while (flock(fd, how | LOCK_NB)) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return err_errno_set(e, "%s", f->path);
		if (clock_now() >= until)
			return err_set(e, ERR_BUSY,
				       "%s is locked by another process",
				       f->path);
		poll(NULL, 0, LOOK_MS);
	}
	return 0;
}

/* Is it still the one that the path names? */
static bool is_there(const char *path, int fd)
{
	struct stat a, b;

	return fstat(fd, &a) == 0 && lstat(path, &b) == 0 &&
	       a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* Another may rotate while we wait: then its successor is wanted. */
static int open_locked(const struct line_file *f, struct err *e)
{
	for (;;) {
		int fd = open_plain(f, e);

		if (fd < 0)
			return -1;
		if (lock(f, fd, LOCK_EX, e)) {
			close(fd);
			return -1;
		}
		if (is_there(f->path, fd))
			return fd;
		close(fd);
	}
}

/* --- rotating --------------------------------------------------------- */

static void former(const struct line_file *f, int64_t i, char out[PATH_MAX])
{
	if (i == 0)
		snprintf(out, PATH_MAX, "%s", f->path);
	else
		snprintf(out, PATH_MAX, "%s.%lld", f->path, (long long)i);
}

/* False: it could not be done, and no file was lost. */
static bool shift(const struct line_file *f)
{
	char from[PATH_MAX], to[PATH_MAX];

	for (int64_t i = f->keep; i >= 1; i--) {
		former(f, i - 1, from);
		former(f, i, to);
		if (rename(from, to) && errno != ENOENT)
			return false;
	}
	for (int64_t i = f->keep + 1;; i++) { /* more were kept before */
		former(f, i, to);
		if (unlink(to))
			return true;
	}
}

/* --- appending -------------------------------------------------------- */

/* Where the last line begins that has no end; `size` if all have one. */
static int64_t open_line(int fd, int64_t size)
{
	char piece[4096];

	for (int64_t end = size; end > 0;) {
		size_t n = end < (int64_t)sizeof piece ? (size_t)end
						       : sizeof piece;
		const char *at;

		if (pread(fd, piece, n, end - (int64_t)n) != (ssize_t)n)
			return -1;
		at = memrchr(piece, '\n', n);
		if (at)
			return end - (int64_t)n + (at - piece) + 1;
		end -= (int64_t)n;
	}
	return 0;
}

/* Makes the file end with a whole line; gives its size then. */
static int mend(const struct line_file *f, int fd, int64_t *size, struct err *e)
{
	size_t n = strlen(f->start);
	char head[64] = "";
	struct stat st;
	int64_t at;

	if (fstat(fd, &st))
		return err_errno_set(e, "%s", f->path);
	at = open_line(fd, st.st_size);
	if (at < 0)
		return err_errno_set(e, "%s", f->path);
	*size = st.st_size;
	if (at == st.st_size)
		return 0;
	if (n < sizeof head && pread(fd, head, n, at) >= 0 &&
	    !strncmp(head, f->start, strlen(head))) {
		*size = at;
		return ftruncate(fd, at) ? err_errno_set(e, "%s", f->path) : 0;
	}
	*size = st.st_size + 1;
	return file_write_fd(fd, f->path, "\n", 1, e);
}

static int write_lines(const struct line_file *f, int fd, struct blob lines,
		       struct err *e)
{
	if (file_write_fd(fd, f->path, lines.p, lines.n, e))
		return -1;
	return fdatasync(fd) ? err_errno_set(e, "%s", f->path) : 0;
}

/* An opened and locked file that has room; its size. */
static int prepare(const struct line_file *f, int64_t *size, struct err *e)
{
	int fd = open_locked(f, e);

	if (fd >= 0 && mend(f, fd, size, e) == 0) {
		if (*size < f->rotate || !shift(f))
			return fd;
		close(fd); /* and let others have what is no longer it */
		fd = open_locked(f, e);
		if (fd >= 0 && mend(f, fd, size, e) == 0)
			return fd;
	}
	if (fd >= 0)
		close(fd);
	return -1;
}

int line_file_append(const struct line_file *f, struct blob lines,
		     bool *unknown, struct err *e)
{
	int64_t size = 0;
	int fd = prepare(f, &size, e), rc;

	*unknown = false;
	if (fd < 0)
		return -1;
	rc = write_lines(f, fd, lines, e);
	if (rc == 0 && size == 0) /* it is new: its name is to stay, too */
		rc = file_sync_parent(f->path, e);
	if (rc && ftruncate(fd, size)) /* else some would come twice */
		*unknown = true;
	close(fd);
	return rc;
}

/* --- looking ---------------------------------------------------------- */

/* From `at`, where a line begins that looks right: has it an end? */
static int is_whole(int fd, int64_t at, char *piece)
{
	char last = 0;

	for (;; at += PIECE) {
		ssize_t n = pread(fd, piece, PIECE, at);
		const char *end = n > 0 ? memchr(piece, '\n', (size_t)n) : NULL;

		if (end > piece)
			last = end[-1];
		if (end || n <= 0)
			return n < 0 ? -1 : end && last == '}';
		last = piece[n - 1];
	}
}

/* Pieces overlap, so that no start is torn. */
static int search(int fd, const char *start, char *piece)
{
	size_t len = strlen(start);
	int64_t base = 0;

	for (;;) {
		ssize_t n = pread(fd, piece, PIECE, base);
		const char *at = piece;

		if (n < 0)
			return -1;
		while ((at = memmem(at, (size_t)(piece + n - at), start, len)))
			if (at == piece ? base == 0 : at[-1] == '\n')
				return is_whole(fd, base + (at - piece), piece);
			else
				at++;
		if (n < (ssize_t)PIECE)
			return 0;
		base += n - (ssize_t)len - 1;
	}
}

/* Not while somebody writes: it may be just this line. */
static int look_into(const struct line_file *f, int64_t i, const char *start,
		     char *piece, struct err *e)
{
	char path[PATH_MAX];
	int fd, found = -1;

	former(f, i, path);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return errno == ENOENT ? 0 : err_errno_set(e, "%s", path);
	if (lock(f, fd, LOCK_SH, e) == 0) {
		found = search(fd, start, piece);
		if (found < 0)
			err_errno_set(e, "%s", path);
	}
	close(fd);
	return found;
}

int line_file_has(const struct line_file *f, const char *start, struct err *e)
{
	char *piece = malloc(PIECE);
	int found = 0;

	if (!piece)
		abort();
	for (int64_t i = 0; i <= f->keep && found == 0; i++)
		found = look_into(f, i, start, piece, e);
	free(piece);
	return found;
}
