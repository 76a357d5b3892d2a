#ifndef VFS_CORE_NODE_CACHE_H
#define VFS_CORE_NODE_CACHE_H

#include "lib/base/err.h"
#include "vfs/core/node.h"
#include "vfs/core/vfs.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Nodes that the batch of a mount has used: each is read once, and written
 * once, when the batch ends. Only rows.c uses the cache, and only inside a
 * batch that is committed or lost as a whole (v->batch_atomic). Clean nodes
 * stay for the next batch, as long as no other connection writes.
 *
 * A node's slot is its number modulo NODE_CACHE_SLOTS; a later node replaces an
 * earlier one. The cache also has the last name that was not found: most often
 * it is created next.
 */
#define NODE_CACHE_SLOTS 1024

struct vfs;
struct node;

struct node_cache {
	struct node *nodes; /* NULL until first used */
	enum { NODE_CACHE_FREE, NODE_CACHE_CLEAN, NODE_CACHE_DIRTY } * state;
	uint64_t changes; /* so far, to detect those of a failed call */
	struct {
		int64_t dir; /* 0: none */
		char name[VFS_NAME_MAX + 1];
	} missing;
};

bool node_cache_on(const struct vfs *v);
const struct node *node_cache_find(const struct vfs *v,
				   int64_t ino); /* or NULL */
/* Copies it. If it is dirty, it differs from its row. */
int node_cache_put(struct vfs *v, const struct node *n, bool dirty,
		   struct err *e);
bool node_cache_is_missing(const struct vfs *v, struct vfs_at at);
void node_cache_missing(struct vfs *v, struct vfs_at at);
void node_cache_drop(struct vfs *v, int64_t ino);
int node_cache_write(struct vfs *v, struct err *e); /* writes dirty nodes */
void node_cache_clear(struct vfs *v);
void node_cache_fini(struct node_cache *m);

#endif
