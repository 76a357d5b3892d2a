#ifndef VFS_CORE_NODE_REFS_H
#define VFS_CORE_NODE_REFS_H

#include <stddef.h>
#include <stdint.h>

/* How often each node is held: a map from numbers to counts, in memory. An
 * all-zero struct is empty. Aborts when out of memory. */
struct node_refs {
	int64_t *key; /* 0: free */
	uint64_t *count;
	size_t cap, n;
};

void node_refs_fini(struct node_refs *s);
uint64_t node_refs_count(const struct node_refs *s, int64_t ino);
void node_refs_add(struct node_refs *s, int64_t ino, uint64_t by);
uint64_t node_refs_sub(struct node_refs *s, int64_t ino,
		       uint64_t by); /* what is left */

/* Iterates over all numbers: for (size_t i = 0; (ino = node_refs_next(s,
 * &i));) */
int64_t node_refs_next(const struct node_refs *s, size_t *i);

#endif
