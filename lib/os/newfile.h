#ifndef LIB_OS_NEWFILE_H
#define LIB_OS_NEWFILE_H

#include "lib/base/err.h"

#include <limits.h>
#include <sys/types.h>

/*
 * What somebody asked to have written to `path`. A file is written beside its
 * place, so that the name always has all of it, the old or the new; what is no
 * file (a pipe, a terminal, /dev/null) is written to as it is. Errors name the
 * path, not what lies beside it.
 */
struct newfile {
	int fd;
	const char *path;   /* borrowed */
	char tmp[PATH_MAX]; /* "": written in place */
};

int newfile_open(struct newfile *f, const char *path, mode_t mode,
		 struct err *e);

/* rc 0: on the disk and in its place. Else all is as it was. rc, or -1. Closes
 * f->fd, unless that is -1: somebody else has closed it. */
int newfile_end(struct newfile *f, int rc, struct err *e);

#endif
