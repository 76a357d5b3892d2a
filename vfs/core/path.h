#ifndef VFS_CORE_PATH_H
#define VFS_CORE_PATH_H

#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "vfs/core/node.h"

#include <stdbool.h>

/*
 * The tree by path. A path starts at the root of the namespace, with or without
 * a '/', and cannot leave it: a ".." or a symbolic link that leads out of the
 * root fails with ERR_ESCAPE, and so does a link with an absolute target (on a
 * mount it would lead to the host).
 */
enum vfs_follow { VFS_NOFOLLOW, VFS_FOLLOW }; /* a link at the very end */

int vfs_walk(struct vfs *v, const char *path, enum vfs_follow follow,
	     struct vfs_attr *out, struct err *e);

/* The directory of a path and its last name, which need not exist. */
struct vfs_place {
	int64_t dir;
	char name[256];
};

int vfs_walk_place(struct vfs *v, const char *path, struct vfs_place *out,
		   struct err *e);

/* The path of a node, without '/' at the start; "" is the root. */
int vfs_path_of(struct vfs *v, int64_t ino, struct buf *out, struct err *e);

/* Appends the whole file to out. `out_attr` may be NULL. */
int vfs_read_file(struct vfs *v, const char *path, struct buf *out,
		  struct vfs_attr *out_attr, struct err *e);

/* A name for the state of a file: it differs whenever the node changes. */
#define VFS_ETAG 40
void vfs_etag(const struct vfs_attr *a, char out[VFS_ETAG]);

struct vfs_put {
	mode_t mode;         /* of a new file; 0: 0644 */
	const char *if_etag; /* only if the file has it; "" : only if new */
	bool append;
	bool parents; /* create missing directories */
};

/* The file gets all of the bytes or is unchanged; ERR_STALE if if_etag does not
 * match. Follows links; keeps the mode of an existing file. */
int vfs_write_file(struct vfs *v, const char *path, struct blob data,
		   const struct vfs_put *put, struct err *e);

int vfs_mkdir(struct vfs *v, const char *path, mode_t mode, bool parents,
	      struct err *e); /* with parents: it may exist */
int vfs_remove(struct vfs *v, const char *path, bool recursive, struct err *e);
int vfs_move(struct vfs *v, const char *from, const char *to, unsigned flags,
	     struct err *e);
int vfs_symlink(struct vfs *v, const char *target, const char *path,
		struct err *e);

#endif
