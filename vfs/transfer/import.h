#ifndef VFS_TRANSFER_IMPORT_H
#define VFS_TRANSFER_IMPORT_H

#include "lib/base/arena.h"
#include "lib/base/err.h"
#include "vfs/core/node.h"
#include "vfs/transfer/transfer.h"

/*
 * The common part of all imports: it takes nodes in any order, a directory
 * before or after its entries.
 */
struct import {
	struct vfs *v;
	struct vfs_transfer *port;
	struct arena mem;
	char *dir; /* the directory of the last item, and its number */
	int64_t dir_ino;
	struct late { /* directories get their times at the end */
		int64_t ino;
		int64_t accessed, modified;
	} * late;
	size_t nlate, cap;
	int64_t pending, pending_bytes; /* since the last commit */
};

struct import_item {
	const char *path;     /* "" is the target itself */
	struct vfs_attr attr; /* mode with type, owner, times, rdev */
	const char *target;   /* of a symbolic link */
	int64_t same_as;      /* node to link to, or 0 */
};

int import_begin(struct import *im, struct vfs *v, struct vfs_transfer *port,
		 struct err *e);
/* Creates the node; *ino is its number, for import_data. */
bool import_is_type(mode_t mode);
int import_item(struct import *im, const struct import_item *item, int64_t *ino,
		struct err *e);
int import_data(struct import *im, int64_t ino, const void *p, size_t n,
		int64_t off, struct err *e);
/* Sets the times of a file, after its content. */
int import_times(struct import *im, int64_t ino, const struct vfs_attr *a,
		 struct err *e);
int import_find(struct import *im, const char *path, int64_t *ino,
		struct err *e); /* of an item that came before */
/* Adds the name of the other program's file to the error: -1. Statements that
 * do not match its tables are not our fault. */
int import_wrong(const char *file, struct err *e);
/* Ends it, with rc of the work so far: commits, or rolls back the last part. */
int import_end(struct import *im, int rc, struct err *e);

#endif
