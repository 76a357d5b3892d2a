#ifndef VFS_CORE_XATTR_LIST_H
#define VFS_CORE_XATTR_LIST_H

#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/base/shape.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * All extended attributes of a file as one list, sorted by name, so that two
 * lists can be compared byte by byte. POSIX ACLs are attributes as well
 * (system.posix_acl_*).
 */
struct vfs;
struct node;

struct xattr {
	const char *name;
	struct blob value;
};

/* for (size_t at = 0; xattrs_next(&list, &at, &x);) */
bool xattrs_next(const struct buf *list, size_t *at, struct xattr *out);

/* Whether it belongs to the file and not to the machine: user.*, ACLs and
 * capabilities. Only these are read from and written to the host. */
bool xattr_is_portable(const char *name);

int xattrs_of_node(struct vfs *v, const struct node *n, bool portable,
		   struct buf *out, struct err *e);
/* Removes attributes that are not in the list. */
int xattrs_to_node(struct vfs *v, int64_t ino, const struct buf *want,
		   struct err *e);

/* The same for a path of the host, whose last component is not followed. */
int xattrs_of_host(const char *path, struct buf *out, struct err *e);
int xattrs_to_host(const char *path, const struct buf *want, struct err *e);

#endif
