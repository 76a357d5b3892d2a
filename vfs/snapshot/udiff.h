#ifndef VFS_SNAPSHOT_UDIFF_H
#define VFS_SNAPSHOT_UDIFF_H

#include "lib/base/buf.h"

#include <stdbool.h>

/*
 * Compares two texts as a unified diff with three lines of context. For binary
 * data it prints one line. If the texts have too little in common, all of one
 * is replaced by all of the other.
 */
struct udiff {
	const char *path;
	const char *a;
	size_t an;
	const char *b;
	size_t bn;
	bool is_new, is_gone; /* /dev/null in the header */
};

void udiff(const struct udiff *d, struct buf *out);

#endif
