#ifndef VFS_CORE_NODE_REFS_H
#define VFS_CORE_NODE_REFS_H

#include <stddef.h>
#include <stdint.h>

/* How often each node is held: numbers to counts, in memory. An all-zero
 * struct is empty. Aborts without memory. */
struct hold_set {
	int64_t *key; /* 0: free */
	uint64_t *count;
	size_t cap, n;
};

void hold_fini(struct hold_set *s);
uint64_t hold_count(const struct hold_set *s, int64_t ino);
void hold_add(struct hold_set *s, int64_t ino, uint64_t by);
uint64_t hold_sub(struct hold_set *s, int64_t ino,
		  uint64_t by); /* what is left */

/* Walks all numbers: for (size_t i = 0; (ino = hold_next(s, &i));) */
int64_t hold_next(const struct hold_set *s, size_t *i);

#endif
