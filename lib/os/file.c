#include "lib/os/file.h"

#include "lib/os/open_files.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define READ_STEP 65536

int file_read_fd(int fd, const char *what, struct buf *b, struct err *e)
{
	for (;;) {
		size_t left = b->max - b->n;
		bool brim = left == 0; /* fine if nothing follows */
		size_t step = left < READ_STEP ? left : READ_STEP;
		char probe = 0, *to = brim ? &probe : buf_room(b, step);
		ssize_t got;

		if (!to)
			return buf_ok(b, what, e);
		got = read(fd, to, brim ? 1 : step);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return err_errno_set(e, "%s", what);
		if (got == 0)
			return 0;
		b->over = brim;
		if (brim)
			return buf_ok(b, what, e);
		buf_grew(b, (size_t)got);
	}
}

static int read_from(const char *path, int flags, struct buf *b, struct err *e)
{
	int fd = open_files_openat(AT_FDCWD, path,
				   O_RDONLY | O_CLOEXEC | flags);
	struct stat st;
	int rc;

	if (fd < 0)
		return err_errno_set(e, "%s", path);
	if (flags & O_NONBLOCK && fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode))
		rc = err_set(e, ERR_INVALID, "%s is a pipe, not a file", path);
	else
		rc = file_read_fd(fd, path, b, e);
	close(fd);
	return rc;
}

int file_read(const char *path, struct buf *b, struct err *e)
{
	return read_from(path, O_NONBLOCK, b, e);
}

int file_read_waiting(const char *path, struct buf *b, struct err *e)
{
	return read_from(path, 0, b, e);
}

int file_write_fd(int fd, const char *what, const void *p, size_t n,
		  struct err *e)
{
	const char *at = p;

	while (n > 0) {
		ssize_t put = write(fd, at, n);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return err_errno_set(e, "%s", what);
		at += put;
		n -= (size_t)put;
	}
	return 0;
}

int file_sync_parent(const char *path, struct err *e)
{
	char copy[PATH_MAX];
	int fd, rc;

	snprintf(copy, sizeof copy, "%s", path);
	fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return err_errno_set(e, "%s", path);
	rc = fsync(fd);
	close(fd);
	return rc ? err_errno_set(e, "%s: sync of its directory", path) : 0;
}

/* A new directory must be on disk; otherwise its content could be lost with its
 * name. */
static int make_one_dir(const char *path, mode_t mode, struct err *e)
{
	if (mkdir(path, mode) == 0)
		return file_sync_parent(path, e);
	if (errno == EEXIST)
		return 0;
	return err_errno_set(e, "cannot create directory %s", path);
}

int file_make_dir(const char *path, mode_t mode, struct err *e)
{
	char copy[PATH_MAX];
	struct stat st;

	if (!*path)
		return err_set(e, ERR_USAGE,
			       "the path of a directory is empty");
	if ((size_t)snprintf(copy, sizeof copy, "%s", path) >= sizeof copy)
		return err_set(e, ERR_USAGE, "%s: the path is too long", path);
	for (char *p = copy + 1;; p++) {
		char was = *p;

		if (was != '/' && was != '\0')
			continue;
		*p = '\0';
		if (make_one_dir(copy, mode, e))
			return -1;
		*p = was;
		if (!was)
			break;
	}
	if (stat(path, &st))
		return err_errno_set(e, "%s", path);
	if (!S_ISDIR(st.st_mode))
		return err_set(e, ERR_CONFLICT, "%s is not a directory", path);
	return 0;
}

static const struct {
	unsigned magic;
	const char *name;
} network_filesystems[] = {
	{NFS_SUPER_MAGIC, "nfs"},   {SMB_SUPER_MAGIC, "smb"},
	{0xff534d42u, "cifs"},      {0xfe534d42u, "smb2"},
	{V9FS_MAGIC, "9p"},         {AFS_SUPER_MAGIC, "afs"},
	{CODA_SUPER_MAGIC, "coda"}, {0x0bd00bd0u, "lustre"},
	{0x00c36400u, "ceph"},
};

const char *file_network_fs(const char *path)
{
	char copy[PATH_MAX];
	struct statfs fs;

	snprintf(copy, sizeof copy, "%s", path);
	while (statfs(copy, &fs)) {
		char *up = dirname(copy); /* works in place */

		if (!strcmp(copy, "/") || !strcmp(copy, "."))
			return NULL;
		memmove(copy, up, strlen(up) + 1);
	}
	for (size_t i = 0;
	     i < sizeof network_filesystems / sizeof network_filesystems[0];
	     i++)
		if ((unsigned)fs.f_type == network_filesystems[i].magic)
			return network_filesystems[i].name;
	return NULL;
}

int64_t file_size(const char *path)
{
	struct stat st;

	return stat(path, &st) ? -1 : (int64_t)st.st_size;
}

bool file_exists(const char *path)
{
	return access(path, F_OK) == 0;
}
