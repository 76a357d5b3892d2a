#include "supervisor/channel/file/rotating_log.h"

#include "lib/base/clock.h"
#include "lib/os/file.h"
#include "lib/os/open_files.h"

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

#define LOCK_POLL_MS 10
#define BLOCK        (1u << 20)

/* --- the lock --------------------------------------------------------- */

static int open_plain(const struct rotating_log *f, struct err *e)
{
	struct stat st;
	int fd;

	if (open_files_contain(AT_FDCWD, f->path))
		return err_set(e, ERR_INVALID, "%s is a database in use",
			       f->path);
	fd = open(f->path,
		  O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW |
			  O_NONBLOCK | O_NOCTTY,
		  0600);
	if (fd < 0 && errno == ELOOP)
		return err_set(e, ERR_INVALID,
			       "%s is a symbolic link; set path to the file "
			       "itself",
			       f->path);
	if (fd < 0)
		return err_errno_set(e, "%s", f->path);
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return fd;
	close(fd);
	return err_set(e, ERR_INVALID, "%s is not a regular file", f->path);
}

static int lock(const struct rotating_log *f, int fd, int how, struct err *e)
{
	int64_t until = clock_mono_ns() + f->lock_timeout_ms * 1000000;

	while (flock(fd, how | LOCK_NB)) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return err_errno_set(e, "%s", f->path);
		if (clock_mono_ns() >= until)
			return err_set(e, ERR_BUSY,
				       "%s is locked by another process",
				       f->path);
		poll(NULL, 0, LOCK_POLL_MS);
	}
	return 0;
}

/* Does the path still name this file? */
static bool is_there(const char *path, int fd)
{
	struct stat a, b;

	return fstat(fd, &a) == 0 && lstat(path, &b) == 0 &&
	       a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* Another process may rotate the file during the wait; then the new file is
 * opened. */
static int open_locked(const struct rotating_log *f, struct err *e)
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

static void rotated_name(const struct rotating_log *f, int64_t i,
			 char out[PATH_MAX])
{
	if (i == 0)
		snprintf(out, PATH_MAX, "%s", f->path);
	else
		snprintf(out, PATH_MAX, "%s.%lld", f->path, (long long)i);
}

/* False: it failed, and no file was lost. */
static bool shift(const struct rotating_log *f)
{
	char from[PATH_MAX], to[PATH_MAX];

	for (int64_t i = f->keep; i >= 1; i--) {
		rotated_name(f, i - 1, from);
		rotated_name(f, i, to);
		if (rename(from, to) && errno != ENOENT)
			return false;
	}
	for (int64_t i = f->keep + 1;; i++) { /* a former setting kept more */
		rotated_name(f, i, to);
		if (unlink(to))
			return true;
	}
}

/* --- appending -------------------------------------------------------- */

/* The offset of an incomplete last line; `size` if there is none. */
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

/* Removes or completes an incomplete last line; *size is the size then. */
static int complete_last_line(const struct rotating_log *f, int fd,
			      int64_t *size, struct err *e)
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

static int write_lines(const struct rotating_log *f, int fd, struct blob lines,
		       struct err *e)
{
	if (file_write_fd(fd, f->path, lines.p, lines.n, e))
		return -1;
	return fdatasync(fd) ? err_errno_set(e, "%s", f->path) : 0;
}

/* Opens and locks the file, after a rotation if it is full; *size is its
 * size. */
static int open_with_room(const struct rotating_log *f, int64_t *size,
			  struct err *e)
{
	int fd = open_locked(f, e);

	if (fd >= 0 && complete_last_line(f, fd, size, e) == 0) {
		if (*size < f->rotate || !shift(f))
			return fd;
		close(fd); /* releases the lock of the rotated file */
		fd = open_locked(f, e);
		if (fd >= 0 && complete_last_line(f, fd, size, e) == 0)
			return fd;
	}
	if (fd >= 0)
		close(fd);
	return -1;
}

int rotating_log_append(const struct rotating_log *f, struct blob lines,
			bool *unknown, struct err *e)
{
	int64_t size = 0;
	int fd = open_with_room(f, &size, e), rc;

	*unknown = false;
	if (fd < 0)
		return -1;
	rc = write_lines(f, fd, lines, e);
	if (rc == 0 && size == 0) /* a new file: sync its name too */
		rc = file_sync_parent(f->path, e);
	/* otherwise a retry would write some lines twice */
	if (rc && ftruncate(fd, size))
		*unknown = true;
	close(fd);
	return rc;
}

/* --- searching
 * ------------------------------------------------------------- */

struct line_search {
	struct wanted_line *wanted; /* by start */
	size_t n, left;             /* left: number not found yet */
	size_t longest;             /* start */
	char *piece, *more;
};

static int by_start(const void *a, const void *b)
{
	const struct wanted_line *x = a, *y = b;

	return strcmp(x->start, y->start);
}

/* Is the line that begins at `at`, and is longer than its block, complete? */
static int is_whole(int fd, int64_t at, char *more)
{
	char last = 0;

	for (;; at += BLOCK) {
		ssize_t n = pread(fd, more, BLOCK, at);
		const char *end = n > 0 ? memchr(more, '\n', (size_t)n) : NULL;

		if (end > more)
			last = end[-1];
		if (end || n <= 0)
			return n < 0 ? -1 : end && last == '}';
		last = more[n - 1];
	}
}

/* The wanted line that matches the line at `at`, the first of equal ones, or
 * NULL. */
static struct wanted_line *match(const struct line_search *h, const char *at,
				 size_t n)
{
	size_t low = 0, high = h->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const char *start = h->wanted[mid].start;
		size_t len = strlen(start);

		if (memcmp(start, at, len < n ? len : n) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == h->n || strlen(h->wanted[low].start) > n ||
	    memcmp(h->wanted[low].start, at, strlen(h->wanted[low].start)) != 0)
		return NULL;
	return &h->wanted[low];
}

static void mark(struct line_search *h, struct wanted_line *w)
{
	const struct wanted_line *end = h->wanted + h->n;

	for (const char *start = w->start;
	     w < end && !w->found && !strcmp(w->start, start); w++) {
		w->found = true;
		h->left--;
	}
}

/* Checks a line with the common prefix, at `at` of the block at offset
 * `base`. */
static int try_line(struct line_search *h, int fd, int64_t base, const char *at,
		    size_t n)
{
	struct wanted_line *w = match(h, at, n);
	const char *end = memchr(at, '\n', n);
	int whole;

	if (!w || w->found)
		return 0;
	whole = end ? end[-1] == '}'
		    : is_whole(fd, base + (at - h->piece), h->more);
	if (whole == 1)
		mark(h, w);
	return whole < 0 ? -1 : 0;
}

static int search_piece(const struct rotating_log *f, struct line_search *h,
			int fd, int64_t base, size_t n)
{
	const char *at = h->piece, *end = at + n;
	size_t len = strlen(f->start);

	for (; h->left > 0; at++) {
		at = memmem(at, (size_t)(end - at), f->start, len);
		if (!at)
			return 0;
		if ((at == h->piece ? base == 0 : at[-1] == '\n') &&
		    try_line(h, fd, base, at, (size_t)(end - at)))
			return -1;
	}
	return 0;
}

/* Blocks overlap, so that no prefix is split. */
static int search_file(const struct rotating_log *f, struct line_search *h,
		       int fd)
{
	int64_t base = 0;

	while (h->left > 0) {
		ssize_t n = pread(fd, h->piece, BLOCK, base);

		if (n < 0 || search_piece(f, h, fd, base, (size_t)n))
			return -1;
		if (n < (ssize_t)BLOCK)
			return 0;
		base += n - (ssize_t)h->longest - 1;
	}
	return 0;
}

/* Takes a shared lock: a writer may be writing one of the wanted lines. */
static int search_one(const struct rotating_log *f, int64_t i,
		      struct line_search *h, struct err *e)
{
	char path[PATH_MAX];
	int fd, rc = -1;

	rotated_name(f, i, path);
	fd = open_files_openat(AT_FDCWD, path,
			       O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return errno == ENOENT ? 0 : err_errno_set(e, "%s", path);
	if (lock(f, fd, LOCK_SH, e) == 0) {
		rc = search_file(f, h, fd);
		if (rc)
			err_errno_set(e, "%s", path);
	}
	close(fd);
	return rc;
}

int rotating_log_find(const struct rotating_log *f, struct wanted_line *wanted,
		      size_t n, struct err *e)
{
	struct line_search h = {wanted, n, n, 0, malloc(BLOCK), malloc(BLOCK)};
	int rc = 0;

	if (!h.piece || !h.more)
		abort();
	qsort(wanted, n, sizeof *wanted, by_start);
	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(wanted[i].start);

		wanted[i].found = false;
		h.longest = len > h.longest ? len : h.longest;
	}
	for (int64_t i = 0; i <= f->keep && h.left > 0 && rc == 0; i++)
		rc = search_one(f, i, &h, e);
	free(h.piece);
	free(h.more);
	return rc;
}
