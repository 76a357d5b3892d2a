#ifndef LIB_OS_NEWFILE_H
#define LIB_OS_NEWFILE_H

#include "lib/base/err.h"

#include <limits.h>
#include <sys/types.h>

/*
 * Output that a user requested in `path`. A file is written beside its final
 * name and renamed, so the name always has the complete old or new content. A
 * pipe, a terminal or /dev/null is written to directly. Errors name the path,
 * not the temporary file.
 */
struct newfile {
	int fd;
	const char *path;   /* borrowed */
	char tmp[PATH_MAX]; /* "": written in place */
};

int newfile_open(struct newfile *f, const char *path, mode_t mode,
		 struct err *e);

/* With rc 0 the file is on disk and has its name; otherwise nothing has
 * changed. Returns rc, or -1. Closes f->fd, unless that is -1: already
 * closed. */
int newfile_end(struct newfile *f, int rc, struct err *e);

#endif
