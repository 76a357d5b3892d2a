#ifndef OPS_OUTFILE_H
#define OPS_OUTFILE_H

#include "lib/base/err.h"

#include <limits.h>

/*
 * A new file that is there whole or not at all: written beside its place, on the
 * disk before it gets its name, and never over another one. Locked while its
 * owner lives; what a dead owner left in the directory is removed by the next.
 */
struct outfile {
	char path[PATH_MAX];
	char part[PATH_MAX];
	int fd; /* -1: not open */
};

int outfile_open(struct outfile *f, const char *path, struct err *e);
int outfile_commit(struct outfile *f, struct err *e); /* closes */
void outfile_abort(struct outfile *f); /* removes it; committed: nothing */

#endif
