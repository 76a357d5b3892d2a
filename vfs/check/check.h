#ifndef VFS_CHECK_CHECK_H
#define VFS_CHECK_CHECK_H

#include "lib/base/err.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Maintenance of all namespaces of an agent file.
 *
 * fsck finds every violated invariant of the tables and, if requested, repairs
 * it, in one transaction. Nodes without a name get one in lost+found. Only
 * `deep` finds damaged contents, because it reads them all.
 *
 * compact makes the file smaller: it merges equal contents, compresses contents
 * again and harder, and returns free pages to the filesystem.
 */
struct sql;

struct vfs_check {
	bool repair, deep;
	/* Called for each kind of damage that was found. May be NULL. */
	void (*report)(void *arg, const char *what, int64_t count);
	void *arg;
	int64_t found, repaired; /* out */
};

int vfs_check(struct sql *db, struct vfs_check *c, struct err *e);

struct vfs_compact {
	void (*report)(void *arg, int64_t done,
		       int64_t total); /* may be NULL */
	void *arg;
	int64_t before, after; /* bytes of the file */
	int64_t joined, compressed;
};

int vfs_compact(struct sql *db, struct vfs_compact *c, struct err *e);

#endif
