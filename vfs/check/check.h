#ifndef VFS_CHECK_CHECK_H
#define VFS_CHECK_CHECK_H

#include "lib/base/err.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Looking after all namespaces of an agent file.
 *
 * fsck finds every broken invariant of the tables, and mends it if asked to,
 * in one transaction. What has lost its name gets one in lost+found. Contents
 * that are damaged are found only by `deep`, which reads them all.
 *
 * compact makes the file small: equal contents become one, contents are
 * compressed once more and harder, and free pages go back to the filesystem.
 */
struct sql;

struct vfs_check {
	bool mend, deep;
	/* Each kind of damage that was found. May be NULL. */
	void (*tell)(void *arg, const char *what, int64_t count);
	void *arg;
	int64_t found, mended; /* out */
};

int vfs_check(struct sql *db, struct vfs_check *c, struct err *e);

struct vfs_compact {
	void (*tell)(void *arg, int64_t done, int64_t total); /* may be NULL */
	void *arg;
	int64_t before, after; /* bytes of the file */
	int64_t joined, squeezed;
};

int vfs_compact(struct sql *db, struct vfs_compact *c, struct err *e);

#endif
