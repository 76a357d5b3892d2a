#ifndef VFS_CORE_NODE_CACHE_H
#define VFS_CORE_NODE_CACHE_H

#include "lib/base/err.h"
#include "vfs/core/node.h"
#include "vfs/core/vfs.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Nodes that the batch of a mount has met: read once, and written once, when
 * the batch ends. Only rows.c looks here, and only inside a batch that is kept
 * or lost as a whole (v->coarse). What is clean stays for the next batch, as
 * long as nobody else writes.
 *
 * A place for each number modulo MEMO_SLOTS; who comes later takes it. And the
 * last name that was looked for in vain: most often it is made next.
 */
#define MEMO_SLOTS 1024

struct vfs;
struct node;

struct memo {
	struct node *nodes; /* NULL until first used */
	enum { MEMO_FREE, MEMO_CLEAN, MEMO_DIRTY } * state;
	uint64_t changes; /* so far: what a failed call may have left behind */
	struct {
		int64_t dir; /* 0: none */
		char name[VFS_NAME_MAX + 1];
	} missing;
};

bool memo_on(const struct vfs *v);
const struct node *memo_find(const struct vfs *v, int64_t ino); /* or NULL */
/* Copies it. If it is dirty, it differs from its row. */
int memo_put(struct vfs *v, const struct node *n, bool dirty, struct err *e);
bool memo_is_missing(const struct vfs *v, struct vfs_at at);
void memo_missing(struct vfs *v, struct vfs_at at);
void memo_drop(struct vfs *v, int64_t ino);
int memo_write(struct vfs *v, struct err *e); /* what is dirty; it is clean */
void memo_clear(struct vfs *v);
void memo_fini(struct memo *m);

#endif
