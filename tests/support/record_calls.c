/*
 * LD_PRELOAD: records what the processes of a home do to its files, for
 * tests/system/support/power_lib.py, which makes what a power failure may leave
 * of it.
 *
 * RECORD_TAPE names a file that all processes map, RECORD_ROOT the directory
 * whose files are recorded. Each call is made first and recorded then. A sync
 * also records where the tape ended when it began: it covers the calls before
 * that. Writes through descriptors that were not opened here (inherited,
 * passed) and through mappings are not recorded; SQLite's -shm is left out,
 * since recovery never reads it.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define FDS_MAX 4096

enum kind {
	KIND_CREATE = 1, /* path */
	KIND_MKDIR,      /* path */
	KIND_REMOVE,     /* path */
	KIND_RENAME,     /* path NUL path */
	KIND_LINK,       /* path */
	KIND_WRITE,      /* bytes */
	KIND_TRUNCATE,
	KIND_SYNC,
	KIND_SYNC_ALL,
	KIND_NAMELESS, /* O_TMPFILE */
};

struct record {
	_Atomic uint32_t ready; /* 1: complete */
	uint32_t kind;
	uint64_t inode;
	int64_t at; /* offset, size, or for a sync the end of the tape */
	uint64_t n; /* bytes that follow, padded to 8 */
};

static struct tape {
	_Atomic uint64_t end; /* of the records, from here on */
	uint64_t size;
	char data[];
} * tape;

static char root[PATH_MAX];
static size_t root_length;
static dev_t root_dev;
static struct {
	bool recorded;
	uint64_t inode;
} files[FDS_MAX];

/* --- the tape -------------------------------------------------------------- */

__attribute__((constructor)) static void open_tape(void)
{
	const char *name = getenv("RECORD_TAPE"), *top = getenv("RECORD_ROOT");
	struct stat st;
	int fd;

	if (!name || !top)
		return;
	fd = open(name, O_RDWR | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st))
		return;
	tape = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE,
		    MAP_SHARED, fd, 0);
	close(fd);
	if (tape == MAP_FAILED)
		abort();
	root_length = (size_t)snprintf(root, sizeof root, "%s/", top);
	root_dev = stat(root, &st) == 0 ? st.st_dev : 0;
}

static struct record *reserve(enum kind kind, uint64_t inode, int64_t at,
			      uint64_t n)
{
	uint64_t all = sizeof(struct record) + (n + 7) / 8 * 8;
	uint64_t begin = atomic_fetch_add(&tape->end, all);
	struct record *r = (struct record *)(void *)(tape->data + begin);

	if (sizeof *tape + begin + all > tape->size) {
		fputs("record_calls: the tape is full\n", stderr);
		abort();
	}
	r->kind = kind;
	r->inode = inode;
	r->at = at;
	r->n = n;
	return r;
}

static void finish_record(struct record *r)
{
	atomic_store(&r->ready, 1);
}

/* --- paths and descriptors ------------------------------------------------- */

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n >= m && strcmp(text + n - m, end) == 0;
}

static bool is_ours(const char *path)
{
	return strncmp(path, root, root_length) == 0 &&
	       !ends_with(path, "-shm") && !ends_with(path, ".log");
}

/* The absolute path without links in its directory; false: not recorded. In a
 * sandbox the same path may be on another device. */
static bool resolve(int dir, const char *path, char *out)
{
	char link[64], whole[PATH_MAX * 2], *slash;
	struct stat st;
	int saved = errno;
	bool found;
	ssize_t n = 0;

	if (!tape)
		return false;
	snprintf(link, sizeof link, "/proc/self/fd/%d", dir);
	if (path[0] != '/')
		n = readlink(dir == AT_FDCWD ? "/proc/self/cwd" : link, whole,
			     PATH_MAX - 1);
	snprintf(whole + (n > 0 ? n : 0), PATH_MAX, "%s%s",
		 path[0] == '/' ? "" : "/", path);
	for (slash = strrchr(whole, '/'); slash > whole && !slash[1];
	     slash = strrchr(whole, '/'))
		*slash = '\0';
	*slash = '\0';
	found = realpath(*whole ? whole : "/", out) && stat(out, &st) == 0 &&
		st.st_dev == root_dev;
	if (found)
		snprintf(out + strlen(out), PATH_MAX - strlen(out), "/%s",
			 slash + 1);
	errno = saved;
	return found && is_ours(out);
}

static void record_names(enum kind kind, uint64_t inode, const char *path,
			 const char *second)
{
	size_t n = strlen(path) + 1, m = second ? strlen(second) + 1 : 0;
	struct record *r = reserve(kind, inode, 0, n + m);

	memcpy(r + 1, path, n);
	if (second)
		memcpy((char *)(r + 1) + n, second, m);
	finish_record(r);
}

static void record_made(enum kind kind, const char *path)
{
	int saved = errno;
	struct stat st;

	if (lstat(path, &st) == 0)
		record_names(kind, st.st_ino, path, NULL);
	errno = saved;
}

static bool recorded(int fd)
{
	return tape && fd >= 0 && fd < FDS_MAX && files[fd].recorded;
}

/* Directories always: the root itself has no name below the root. */
static void note_descriptor(int fd, bool record)
{
	struct stat st;

	if (!tape || fd < 0 || fd >= FDS_MAX)
		return;
	files[fd].recorded = false;
	if (record && fstat(fd, &st) == 0 && st.st_dev == root_dev) {
		files[fd].inode = st.st_ino;
		files[fd].recorded = true;
	}
}

static void record_bytes(int fd, const void *p, ssize_t n, int64_t at)
{
	struct record *r;

	if (n <= 0 || !recorded(fd))
		return;
	r = reserve(KIND_WRITE, files[fd].inode, at, (uint64_t)n);
	memcpy(r + 1, p, (size_t)n);
	finish_record(r);
}

/* --- the calls ------------------------------------------------------------- */

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name) */

/* Compiled for large files, open is open64 and so on: what skep and SQLite call. */

static int open_and_record(int dir, const char *path, int flags, mode_t mode)
{
	char whole[PATH_MAX * 2];
	struct stat st;
	bool ours = resolve(dir, path, whole);
	bool is_new = ours && lstat(whole, &st) != 0;
	int fd = (int)syscall(SYS_openat, dir, path, flags, mode);

	if (fd < 0)
		return fd;
	if (tape && (flags & O_TMPFILE) == O_TMPFILE && fstat(fd, &st) == 0) {
		finish_record(reserve(KIND_NAMELESS, st.st_ino, 0, 0));
		ours = true;
	} else if (is_new) {
		record_made(KIND_CREATE, whole);
	}
	note_descriptor(fd, ours || flags & O_DIRECTORY);
	if (flags & O_TRUNC && !is_new && recorded(fd))
		finish_record(reserve(KIND_TRUNCATE, files[fd].inode, 0, 0));
	return fd;
}

static mode_t mode_of(int flags, va_list ap)
{
	return flags & (O_CREAT | __O_TMPFILE) ? va_arg(ap, mode_t) : 0;
}

int open(const char *path, int flags, ...)
{
	va_list ap;
	int fd;

	va_start(ap, flags);
	fd = open_and_record(AT_FDCWD, path, flags, mode_of(flags, ap));
	va_end(ap);
	return fd;
}

int openat(int dir, const char *path, int flags, ...)
{
	va_list ap;
	int fd;

	va_start(ap, flags);
	fd = open_and_record(dir, path, flags, mode_of(flags, ap));
	va_end(ap);
	return fd;
}

int close(int fd)
{
	if (tape && fd >= 0 && fd < FDS_MAX)
		files[fd].recorded = false;
	return (int)syscall(SYS_close, fd);
}

ssize_t pwrite(int fd, const void *p, size_t n, off_t at)
{
	ssize_t done;

	done = syscall(SYS_pwrite64, fd, p, n, at);
	record_bytes(fd, p, done, at);
	return done;
}

ssize_t write(int fd, const void *p, size_t n)
{
	ssize_t done;

	done = syscall(SYS_write, fd, p, n);
	if (done > 0 && recorded(fd))
		record_bytes(fd, p, done, lseek(fd, 0, SEEK_CUR) - done);
	return done;
}

ssize_t writev(int fd, const struct iovec *v, int count)
{
	ssize_t done, left;
	int64_t at;

	left = done = syscall(SYS_writev, fd, v, count);
	if (done <= 0 || !recorded(fd))
		return done;
	at = lseek(fd, 0, SEEK_CUR) - done;
	for (int i = 0; left > 0; i++) {
		ssize_t n = (ssize_t)v[i].iov_len < left ? (ssize_t)v[i].iov_len
							 : left;

		record_bytes(fd, v[i].iov_base, n, at);
		at += n;
		left -= n;
	}
	return done;
}

int ftruncate(int fd, off_t size)
{
	int rc;

	rc = (int)syscall(SYS_ftruncate, fd, size);
	if (rc == 0 && recorded(fd))
		finish_record(reserve(KIND_TRUNCATE, files[fd].inode, size, 0));
	return rc;
}

static int sync_and_record(long call, int fd, enum kind kind)
{
	uint64_t end = tape ? tape->end : 0;
	int rc = (int)syscall(call, fd);

	if (rc == 0 && recorded(fd))
		finish_record(reserve(kind, files[fd].inode, (int64_t)end, 0));
	return rc;
}

int fsync(int fd)
{
	return sync_and_record(SYS_fsync, fd, KIND_SYNC);
}

int fdatasync(int fd)
{
	return sync_and_record(SYS_fdatasync, fd, KIND_SYNC);
}

int syncfs(int fd)
{
	return sync_and_record(SYS_syncfs, fd, KIND_SYNC_ALL);
}

int unlinkat(int dir, const char *path, int flags)
{
	char whole[PATH_MAX * 2];
	bool ours = resolve(dir, path, whole);
	int rc;

	rc = (int)syscall(SYS_unlinkat, dir, path, flags);
	if (rc == 0 && ours)
		record_names(KIND_REMOVE, 0, whole, NULL);
	return rc;
}

int unlink(const char *path)
{
	return unlinkat(AT_FDCWD, path, 0);
}

int rmdir(const char *path)
{
	return unlinkat(AT_FDCWD, path, AT_REMOVEDIR);
}

int renameat2(int from, const char *old, int to, const char *new,
	      unsigned flags)
{
	char a[PATH_MAX * 2], b[PATH_MAX * 2];
	bool both = resolve(from, old, a) && resolve(to, new, b);
	int rc;

	rc = (int)syscall(SYS_renameat2, from, old, to, new, flags);
	if (rc == 0 && both)
		record_names(KIND_RENAME, flags, a, b);
	return rc;
}

int renameat(int from, const char *old, int to, const char *new)
{
	return renameat2(from, old, to, new, 0);
}

int rename(const char *old, const char *new)
{
	return renameat2(AT_FDCWD, old, AT_FDCWD, new, 0);
}

int linkat(int from, const char *old, int to, const char *new, int flags)
{
	char whole[PATH_MAX * 2];
	int rc;

	rc = (int)syscall(SYS_linkat, from, old, to, new, flags);
	if (rc == 0 && resolve(to, new, whole))
		record_made(KIND_LINK, whole);
	return rc;
}

int link(const char *old, const char *new)
{
	return linkat(AT_FDCWD, old, AT_FDCWD, new, 0);
}

int mkdirat(int dir, const char *path, mode_t mode)
{
	char whole[PATH_MAX * 2];
	int rc;

	rc = (int)syscall(SYS_mkdirat, dir, path, mode);
	if (rc == 0 && resolve(dir, path, whole))
		record_made(KIND_MKDIR, whole);
	return rc;
}

int mkdir(const char *path, mode_t mode)
{
	return mkdirat(AT_FDCWD, path, mode);
}

int mknodat(int dir, const char *path, mode_t mode, dev_t dev)
{
	char whole[PATH_MAX * 2];
	int rc;

	rc = (int)syscall(SYS_mknodat, dir, path, mode, dev);
	if (rc == 0 && resolve(dir, path, whole))
		record_made(KIND_CREATE, whole);
	return rc;
}

int mknod(const char *path, mode_t mode, dev_t dev)
{
	return mknodat(AT_FDCWD, path, mode, dev);
}

/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */
