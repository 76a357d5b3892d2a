#ifndef VFS_CORE_LOWER_H
#define VFS_CORE_LOWER_H

#include "lib/base/err.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Namespaces with a lower directory: the files of the host that a namespace
 * shows until it changes them. Functions return -1 with the reason.
 */
struct node;
struct vfs;
struct vfs_lower_row;

int lower_root(struct vfs *v, struct node *root, struct err *e);
int lower_fill(struct vfs *v, struct node *dir, struct err *e);
int lower_fill_all(struct vfs *v, struct err *e);
void lower_close(struct vfs *v);
/* Whether the host file is as it was when it was first seen, at its path: 1, 0,
 * -1. */
int lower_is_clean(struct vfs *v, const struct node *n, const char *path,
		   struct err *e);
/* Whether the node got its content from this path of the host: 1, 0, -1. */
int lower_is_at(struct vfs *v, const struct node *n, const char *path,
		struct err *e);
#define HOST_DIR (-1) /* instead of a size: it was a directory */
int lower_open_parent(struct vfs *v, const char *path, const char **name,
		      struct err *e); /* an fd of the directory */
/* The properties of a path of the host when the namespace first read it: 1, 0,
 * -1. Does not set the path of *out. */
int lower_seen(struct vfs *v, const char *path, struct vfs_lower_row *out,
	       struct err *e);
int lower_open(struct vfs *v, const char *path, int flags, struct err *e);
int lower_reset(struct vfs *v, struct err *e); /* as if never read */
int lower_read(struct vfs *v, const struct node *n, void *p, size_t len,
	       int64_t off, struct err *e); /* zeros past the visible part */

/* lower_fingerprint.c: called before each change of a node's content or
 * attributes. */
int lower_keep_fingerprint(struct vfs *v, const struct node *n, struct err *e);
/* Whether the host file is as before the first change: 1, 0 if it is not or
 * that is unknown, -1. */
int lower_fingerprint_same(struct vfs *v, int64_t ino, const char *path,
			   struct err *e);

#endif
