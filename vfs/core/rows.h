#ifndef VFS_CORE_ROWS_H
#define VFS_CORE_ROWS_H

#include "lib/base/err.h"
#include "lib/base/shape.h"
#include "schema/agent/vfs_id.h"
#include "vfs/core/node.h"
#include "vfs/core/vfs.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * The only layer that changes rows of the tree. It first copies what a snapshot
 * still needs into the undo tables, so that the layers above need not know
 * about snapshots; and it reads either the live tree or a snapshot. Call it
 * inside a transaction.
 */
/* Flags of a node. */
enum {
	NODE_XATTR = 1,  /* it has attributes */
	NODE_UNSEEN = 2, /* its lower directory was not read yet */
	NODE_HOSTS = 4,  /* as on the host: not in the quota until it changes */
};

/* A node in memory: its row, with the name copied. */
struct node {
	int64_t ino, nlink, uid, gid, size, rdev, flags, parent;
	int64_t accessed, modified, changed, created;
	int64_t mode;
	int64_t blob; /* chunk 0: OPT_NONE, 0 (hole over the host) or a blob */
	int64_t lower_size; /* OPT_NONE: no host file */
	char name[VFS_NAME_MAX + 1];
};

/* rows.c. *_find: 1, 0 if it does not exist, -1. *_get: 0, or -1. */
int node_find(struct vfs *v, int64_t ino, struct node *out, struct err *e);
int node_get(struct vfs *v, int64_t ino, struct node *out, struct err *e);
int ino_peek(struct vfs *v, int64_t *out, struct err *e); /* the next number */
int node_add(struct vfs *v, struct node *n, const char *target,
	     struct err *e); /* gives it a number */
int node_save_undo(struct vfs *v, const struct node *n,
		   struct err *e); /* before the first change */
int node_save(struct vfs *v, const struct node *n, struct err *e);
int node_store(struct vfs *v, const struct node *n,
	       struct err *e); /* node_save at once, for node_cache.h */
int node_drop(struct vfs *v, struct node *n, struct err *e); /* with content */
void node_touch(struct node *n,
		bool content); /* changed, or modified as well */
void node_attr(const struct node *n, struct vfs_attr *out);

int node_child(struct vfs *v, struct vfs_at at, struct node *out,
	       struct err *e); /* 1, 0, -1 */
int dentry_get(struct vfs *v, struct vfs_at at, int64_t *ino, unsigned *type,
	       struct err *e); /* 1, 0, -1; type may be NULL */
int dentry_put(struct vfs *v, struct vfs_at at, const struct node *n,
	       struct err *e); /* the name must be free */
int dentry_drop(struct vfs *v, struct vfs_at at, const struct node *n,
		struct err *e);
int dentry_any(struct vfs *v, int64_t dir, struct err *e); /* 1, 0, -1 */

/* blob is OPT_NONE if there is no chunk. Chunk 0 is in the node's row: it
 * changes *n, which the caller saves, and is kept by node_save_undo. */
int chunk_get(struct vfs *v, const struct node *n, int64_t idx, int64_t *blob,
	      struct err *e);
int chunk_save_undo(struct vfs *v, const struct node *n, int64_t idx,
		    int64_t blob,
		    struct err *e); /* before blob changes where it lies */
int chunk_set(struct vfs *v, struct node *n, int64_t idx, int64_t blob,
	      struct err *e); /* releases the old blob */

/* blob.c: contents and their reference counts. */
struct vfs_blob_row;
int blob_unpack(const struct vfs_blob_row *row, uint8_t out[VFS_CHUNK],
		size_t *n, struct err *e);
int blob_read(struct vfs *v, int64_t blob, uint8_t out[VFS_CHUNK], size_t *n,
	      struct err *e);
int blob_read_part(struct vfs *v, int64_t blob, void *p, size_t n, size_t off,
		   struct err *e);   /* past its end are zeros */
void blob_end_direct(struct vfs *v); /* before the transaction ends */
int blob_add(struct vfs *v, const void *p, size_t n, bool compress,
	     int64_t *out, struct err *e);
int blob_replace(struct vfs *v, int64_t blob, const void *p, size_t n,
		 bool compress, struct err *e);
struct blob_state {
	bool shared;   /* several rows refer to it: it must not change */
	bool plain;    /* not compressed: it can be changed in place */
	size_t stored; /* bytes, as they are stored */
};

int blob_state(struct vfs *v, int64_t blob, struct blob_state *out,
	       struct err *e);
int blob_patch(struct vfs *v, int64_t blob, const void *p, size_t n, size_t off,
	       struct err *e); /* uncompressed, within the stored bytes */
int blob_ref(struct vfs *v, int64_t blob, struct err *e);
int blob_unref(struct vfs *v, int64_t blob, struct err *e);

#endif
