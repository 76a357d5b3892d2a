#ifndef VFS_CORE_VISIT_H
#define VFS_CORE_VISIT_H

#include "lib/base/err.h"
#include "vfs/core/node.h"

/*
 * Walks a tree: each directory before its entries, names in byte order. Each
 * directory is read at one moment; entries that vanish before they are reached
 * are skipped.
 */
struct vfs;

struct vfs_found {
	const char *path; /* from the start of the walk, which is "" */
	const char *name;
	int depth;
	struct vfs_attr attr;
};

/* 0: continue; 1: do not enter this directory; -1: stop, *e has the reason. */
typedef int vfs_visit_fn(void *arg, const struct vfs_found *f, struct err *e);

/* `start` is a path; a symbolic link at its end is followed. */
int vfs_visit(struct vfs *v, const char *start, vfs_visit_fn *fn, void *arg,
	      struct err *e);

/* Whether a shell pattern matches: a pattern without '/' is matched with the
 * name, others with the whole path, where ** matches any directories. */
bool vfs_glob(const char *pattern, const struct vfs_found *f);

#endif
