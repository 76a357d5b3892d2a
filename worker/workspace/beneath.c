#include "worker/workspace/beneath.h"

#include "lib/base/text.h"
#include "lib/os/file.h"
#include "lib/os/open_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

void beneath_close(struct beneath *b)
{
	if (b->fd >= 0)
		close(b->fd);
	b->fd = -1;
}

int beneath_failed(const char *path, struct err *e)
{
	if (errno == EXDEV || errno == ELOOP)
		return err_set(e, ERR_DENIED, "%s leads outside the workspace",
			       quoted(path).text);
	if (errno == ENOENT || errno == ENOTDIR)
		return err_set(e, ERR_NOTFOUND, "%s does not exist",
			       quoted(path).text);
	return err_errno_set(e, "%s", quoted(path).text);
}

int beneath_not_plain(const char *path, struct err *e)
{
	return err_set(e, ERR_INVALID, "%s is not a regular file",
		       quoted(path).text);
}

const char *beneath_path(const struct beneath *b, const char *path,
			 struct err *e)
{
	size_t n = strlen(b->dir);

	while (n > 0 && b->dir[n - 1] == '/')
		n--;
	if (path[0] == '/') {
		if (strncmp(path, b->dir, n) != 0 ||
		    (path[n] && path[n] != '/')) {
			err_set(e, ERR_DENIED,
				"%s is outside of the workspace %s",
				quoted(path).text, b->dir);
			return NULL;
		}
		path += n;
	}
	while (*path == '/')
		path++;
	return *path ? path : ".";
}

int beneath_open(const struct beneath *b, const char *path, int flags,
		 mode_t mode, struct err *e)
{
	struct open_how how = {
		.flags = (unsigned)flags | O_CLOEXEC |
			 (flags & O_PATH ? 0u : O_NONBLOCK),
		.mode = flags & O_CREAT ? mode : 0,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
	};
	int fd;

	if (!(flags & (O_PATH | O_DIRECTORY)) &&
	    open_files_contain(b->fd, path))
		return err_set(e, ERR_BUSY, "%s is a database in use",
			       quoted(path).text);
	fd = (int)syscall(SYS_openat2, b->fd, path, &how, sizeof how);
	return fd < 0 ? beneath_failed(path, e) : fd;
}

/* Opens the directory of a path, which must exist. */
static int open_parent(const struct beneath *b, const char *path,
		       const char **name, struct err *e)
{
	const char *slash = strrchr(path, '/');
	char dir[PATH_MAX] = ".";

	*name = slash ? slash + 1 : path;
	if (!**name || !strcmp(*name, ".") || !strcmp(*name, ".."))
		return err_set(e, ERR_INVALID, "%s does not name a file",
			       quoted(path).text);
	if (slash && (size_t)(slash - path) >= sizeof dir)
		return err_set(e, ERR_INVALID, "the path is too long");
	if (slash)
		snprintf(dir, sizeof dir, "%.*s", (int)(slash - path), path);
	return beneath_open(b, dir, O_PATH | O_DIRECTORY, 0, e);
}

static int make_one(const struct beneath *b, const char *path, struct err *e)
{
	const char *name;
	int parent = open_parent(b, path, &name, e), rc;

	if (parent < 0)
		return -1;
	rc = mkdirat(parent, name, 0777);
	close(parent);
	return rc && errno != EEXIST ? beneath_failed(path, e) : 0;
}

static bool ends_in_dots(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	return !strcmp(name, ".") || !strcmp(name, "..");
}

/* Creates the first n bytes of the path, directory by directory. */
static int make_dirs(const struct beneath *b, const char *path, size_t n,
		     struct err *e)
{
	char part[PATH_MAX];
	size_t at = 0;

	if (n >= sizeof part)
		return err_set(e, ERR_INVALID, "the path is too long");
	while (at < n) {
		at += strspn(path + at, "/");
		at += strcspn(path + at, "/");
		snprintf(part, sizeof part, "%.*s", (int)(at < n ? at : n),
			 path);
		if (!ends_in_dots(part) && make_one(b, part, e))
			return -1;
	}
	return 0;
}

int beneath_make_dir(const struct beneath *b, const char *path, struct err *e)
{
	size_t n = strlen(path);

	int fd;

	while (n > 1 && path[n - 1] == '/')
		n--;
	if (make_dirs(b, path, n, e))
		return -1;
	fd = beneath_open(b, path, O_PATH | O_DIRECTORY, 0, e);
	if (fd >= 0)
		close(fd);
	return fd < 0 ? -1 : 0; /* it may be a file */
}

int beneath_parent(const struct beneath *b, const char *path, bool make,
		   const char **name, struct err *e)
{
	const char *slash = strrchr(path, '/');

	if (make && slash && make_dirs(b, path, (size_t)(slash - path), e))
		return -1;
	return open_parent(b, path, name, e);
}

static int read_descriptor(int fd, const char *path, struct buf *out,
			   struct err *e)
{
	struct stat st;

	if (fstat(fd, &st))
		return beneath_failed(path, e);
	if (!S_ISREG(st.st_mode))
		return beneath_not_plain(path, e);
	return file_read_fd(fd, quoted(path).text, out, e);
}

int beneath_read(const struct beneath *b, const char *path, struct buf *out,
		 struct err *e)
{
	int fd = beneath_open(b, path, O_RDONLY, 0, e), rc;

	if (fd < 0)
		return -1;
	rc = read_descriptor(fd, path, out, e);
	close(fd);
	return rc;
}

int beneath_put(const struct beneath *b, const char *path, int flags,
		const struct blob *what, struct err *e)
{
	const char *name;
	int fd = beneath_parent(b, path, true, &name, e), rc;

	if (fd < 0)
		return -1;
	close(fd);
	fd = beneath_open(b, path, O_WRONLY | O_CREAT | flags, 0666, e);
	if (fd < 0)
		return -1;
	rc = file_write_fd(fd, quoted(path).text, what->p, what->n, e);
	return close(fd) && rc == 0 ? beneath_failed(path, e) : rc;
}

int beneath_write(const struct beneath *b, const char *path, const void *p,
		  size_t n, struct err *e)
{
	return beneath_put(b, path, O_TRUNC, &(struct blob){p, n}, e);
}

void beneath_cut_lines(struct buf *text, int64_t line, int64_t limit)
{
	const char *at = text->p, *end = text->p + text->n;

	for (int64_t i = 1; i < line && at < end; i++) {
		const char *nl = memchr(at, '\n', (size_t)(end - at));

		at = nl ? nl + 1 : end;
	}
	buf_drop(text, (size_t)(at - text->p));
	at = text->p;
	end = text->p + text->n;
	for (int64_t i = 0; limit > 0 && i < limit && at < end; i++) {
		const char *nl = memchr(at, '\n', (size_t)(end - at));

		at = nl ? nl + 1 : end;
	}
	if (limit > 0) {
		text->n = (size_t)(at - text->p);
		text->p[text->n] = '\0';
	}
}
