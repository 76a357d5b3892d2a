#ifndef VFS_SNAPSHOT_DIFF_SOURCE_H
#define VFS_SNAPSHOT_DIFF_SOURCE_H

#include "lib/base/arena.h"
#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "vfs/core/node.h"

#include <stdint.h>

/*
 * One side of a comparison: a struct vfs (live or a snapshot), or a directory
 * of the host. Paths are relative to its root, "" is the root.
 */
struct vfs;

struct diff_source {
	struct vfs *v;   /* borrowed; NULL: the host */
	const char *dir; /* borrowed; of the host */
};

/* Entries of a directory in byte order, in the arena: how many, or -1. */
struct diff_source_entry {
	const char *name;
	struct vfs_attr attr; /* .ino is the host's on the host */
};

int diff_source_list(const struct diff_source *s, const char *path, int64_t ino,
		     struct diff_source_entry **out, struct arena *a,
		     struct err *e);

/* 1, 0 if it does not exist, -1. Links are not followed. */
int diff_source_attr(const struct diff_source *s, const char *path,
		     struct vfs_attr *out, struct err *e);

/* Appends all bytes of a file, or the target of a link, to out. */
int diff_source_content(const struct diff_source *s, const char *path,
			const struct vfs_attr *a, struct buf *out,
			struct err *e);

/* Whether extended attributes, including ACLs, are equal: 1, 0, -1. */
int diff_source_same_xattrs(const struct diff_source *a,
			    const struct diff_source *b, const char *path,
			    const struct vfs_attr *aa,
			    const struct vfs_attr *ab, struct err *e);

/* Whether contents are equal: 1, 0, -1. Types and sizes are already equal.
 * Contents that both sides share are not read. */
int diff_source_same(const struct diff_source *a, const struct diff_source *b,
		     const char *path, const struct vfs_attr *aa,
		     const struct vfs_attr *ab, struct err *e);

/* Whether two sides are equal at a path: 1, 0, -1. Two directories are equal;
 * their entries are compared separately. */
int diff_source_same_at(const struct diff_source *a,
			const struct diff_source *b, const char *path,
			struct err *e);

#endif
