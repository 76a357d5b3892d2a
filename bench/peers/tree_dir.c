#include "bench/suites/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A directory through system calls: on the disk, or of a mount. */
struct dir_tree {
	int root;
	int patched; /* stays open, as in a program */
};

static int fd_of(void *tree)
{
	return ((struct dir_tree *)tree)->root;
}

static int open_tree(void **out, const char *dir, struct err *e)
{
	struct dir_tree *t = calloc(1, sizeof *t);

	if (!t)
		abort();
	*out = t;
	t->patched = -1;
	t->root = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return t->root < 0 ? err_errno_set(e, "%s", dir) : 0;
}

static void close_tree(void *tree)
{
	struct dir_tree *t = tree;

	if (t->patched >= 0)
		close(t->patched);
	if (t->root >= 0)
		close(t->root);
	free(t);
}

static int nothing(void *tree, struct err *e)
{
	(void)tree;
	(void)e;
	return 0;
}

static int dir_mkdir(void *tree, const char *path, struct err *e)
{
	return mkdirat(fd_of(tree), path, 0755) ? err_errno_set(e, "%s", path)
						: 0;
}

static int dir_put(void *tree, const char *path, const void *p, size_t n,
		   struct err *e)
{
	int fd = openat(fd_of(tree), path,
			O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	int rc = 0;

	if (fd < 0)
		return err_errno_set(e, "%s", path);
	if (write(fd, p, n) != (ssize_t)n)
		rc = err_errno_set(e, "%s", path);
	if (close(fd) && rc == 0)
		rc = err_errno_set(e, "%s", path);
	return rc;
}

static int dir_get(void *tree, const char *path, void *p, size_t n,
		   struct err *e)
{
	int fd = openat(fd_of(tree), path, O_RDONLY | O_CLOEXEC);
	ssize_t got;

	if (fd < 0)
		return err_errno_set(e, "%s", path);
	got = read(fd, p, n);
	close(fd);
	return got == (ssize_t)n ? 0 : err_errno_set(e, "%s", path);
}

static int stat_file(void *tree, const char *path, int64_t *size, struct err *e)
{
	struct stat st;

	if (fstatat(fd_of(tree), path, &st, 0))
		return err_errno_set(e, "%s", path);
	*size = st.st_size;
	return 0;
}

static int dir_list(void *tree, const char *path, int *n, struct err *e)
{
	int fd = openat(fd_of(tree), path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (!d)
		return err_errno_set(e, "%s", path);
	for (*n = -2; readdir(d);) /* "." and ".." */
		++*n;
	closedir(d);
	return 0;
}

static int dir_patch(void *tree, const char *path, int64_t off, const void *p,
		     size_t n, struct err *e)
{
	struct dir_tree *t = tree;

	if (t->patched < 0)
		t->patched = openat(t->root, path, O_WRONLY | O_CLOEXEC);
	if (t->patched < 0 || pwrite(t->patched, p, n, off) != (ssize_t)n)
		return err_errno_set(e, "%s", path);
	return 0;
}

static int move_file(void *tree, const char *from, const char *to,
		     struct err *e)
{
	return renameat(fd_of(tree), from, fd_of(tree), to)
		       ? err_errno_set(e, "%s", from)
		       : 0;
}

static int dir_remove(void *tree, const char *path, struct err *e)
{
	return unlinkat(fd_of(tree), path, 0) ? err_errno_set(e, "%s", path)
					      : 0;
}

const struct tree_kind tree_dir = {
	"directory", open_tree, close_tree, nothing,   nothing,
	dir_mkdir,   dir_put,   dir_get,    stat_file, dir_list,
	dir_patch,   move_file, dir_remove};
