#ifndef OPS_OUTFILE_H
#define OPS_OUTFILE_H

#include "lib/base/err.h"

#include <limits.h>

/*
 * A new file that exists completely or not at all: it is written under a
 * temporary name, synced before it is renamed, and never overwrites another
 * file. It is locked while its owner lives; the next owner deletes files that a
 * dead one left in the directory.
 */
struct outfile {
	char path[PATH_MAX];
	char part[PATH_MAX];
	int fd; /* -1: not open */
};

int outfile_open(struct outfile *f, const char *path, struct err *e);
int outfile_commit(struct outfile *f, struct err *e); /* closes */
void outfile_abort(struct outfile *f); /* deletes it, unless it was committed */

#endif
