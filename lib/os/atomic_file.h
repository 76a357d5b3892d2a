#ifndef LIB_OS_ATOMIC_FILE_H
#define LIB_OS_ATOMIC_FILE_H

#include "lib/base/err.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Replaces a file atomically: it has the old or the new content, also after a
 * power failure. Writes a temporary file beside it, then fsync, rename, and
 * fsync of the directory. A target that is not a regular file (a pipe, a
 * terminal, /dev/null) is written in place. Errors name the path, not the
 * temporary file.
 */
struct atomic_file {
	int fd;
	const char *path;   /* borrowed */
	char tmp[PATH_MAX]; /* "": written in place */
	bool fresh;
};

int atomic_file_open(struct atomic_file *f, const char *path, mode_t mode,
		     struct err *e);

/* The same for a new file: ERR_CONFLICT if the path exists. The temporary file
 * is locked; those of dead processes in the directory are removed. */
int atomic_file_create(struct atomic_file *f, const char *path, mode_t mode,
		       struct err *e);

/* With rc 0 the file is synced and renamed, otherwise it is removed. Returns rc,
 * or -1. Closes f->fd unless it is -1 (the caller has closed it). */
int atomic_file_end(struct atomic_file *f, int rc, struct err *e);

/* Writes all bytes at once. Replaces also what is not a regular file. */
int atomic_file_write(const char *path, const void *p, size_t n, mode_t mode,
		      struct err *e);

#endif
