#ifndef VFS_CORE_COOKIE_H
#define VFS_CORE_COOKIE_H

#include "vfs/core/node.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Offsets of names in the listing of a directory. A cookie is the node's number
 * and a hash of the name, so it depends on the name alone, and the kernel may
 * continue from any offset in any handle. Names of one node may have the same
 * hash; then all but one get another cookie, which the book stores as long as
 * the name exists. So no cookie changes because another name is removed.
 */
#define COOKIE_BITS 22

struct cookie_book {
	unsigned hash_bits; /* 0: COOKIE_BITS. Fewer, for tests. */
	struct cookie_note *notes;
	size_t n, room;
};

void cookies_fini(struct cookie_book *b);

/* Sorts the entries of directory `dir` by cookie and returns the increasing
 * cookies in an array of n + 1 that the caller frees. */
int64_t *cookies_sort(struct cookie_book *b, int64_t dir,
		      struct vfs_entry *entries, size_t n);

#endif
