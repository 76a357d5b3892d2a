#ifndef VFS_CORE_VISIT_H
#define VFS_CORE_VISIT_H

#include "lib/base/err.h"
#include "vfs/core/node.h"

/*
 * Walks a tree: each directory before what is in it, names in byte order. The
 * walk of a directory is of one moment; what vanishes before it is reached is
 * passed over.
 */
struct vfs;

struct vfs_found {
	const char *path; /* from the start of the walk, which is "" */
	const char *name;
	int depth;
	struct vfs_attr attr;
};

/* 0: go on; 1: not into this directory; -1: stop, *e says why. */
typedef int vfs_visit_fn(void *arg, const struct vfs_found *f, struct err *e);

/* `start` is a path; a symbolic link at its end is followed. */
int vfs_visit(struct vfs *v, const char *start, vfs_visit_fn *fn, void *arg,
	      struct err *e);

/* Whether a shell pattern fits: one without '/' is matched with the name, one
 * with '/' with the whole path, where ** stands for any directories. */
bool vfs_glob(const char *pattern, const struct vfs_found *f);

#endif
