#ifndef VFS_SNAPSHOT_UDIFF_H
#define VFS_SNAPSHOT_UDIFF_H

#include "lib/base/buf.h"

#include <stdbool.h>

/*
 * Two texts as a unified difference with three lines of context. Bytes that
 * are no text give one line that says so. When the texts have too little in
 * common to be worth the search, all of one is replaced by all of the other.
 */
struct udiff {
	const char *path;
	const char *a;
	size_t an;
	const char *b;
	size_t bn;
	bool is_new, is_gone; /* /dev/null in the head */
};

void udiff(const struct udiff *d, struct buf *out);

#endif
