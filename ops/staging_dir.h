#ifndef OPS_STAGING_DIR_H
#define OPS_STAGING_DIR_H

#include "lib/base/err.h"

#include <limits.h>

/*
 * A directory for work that may be killed: 0700, created beside its final name,
 * with a locked file while its owner lives. The next owner deletes directories
 * that a dead one left behind.
 */
struct staging_dir {
	char path[PATH_MAX - 256];
	int lock; /* -1: not open */
};

/* Creates PARENT/PREFIX-ID; first deletes those of dead owners with this
 * prefix. */
int staging_dir_open(struct staging_dir *w, const char *parent,
		     const char *prefix, const char *id, struct err *e);

/* Keeps the directory and deletes its lock file: the work is complete. */
int staging_dir_keep(struct staging_dir *w, struct err *e);

void staging_dir_close(
	struct staging_dir *w); /* deletes it, unless it was kept */

/* Whether the directory, or the locked file, has a dead owner. */
bool staging_dir_is_stale(const char *path);

/* A path in it, valid until the next call of the same thread. */
const char *staging_dir_path(const struct staging_dir *w, const char *below);

/* Deletes a file, or a directory with everything below it; does not follow
 * links. */
int tree_remove(const char *path, struct err *e);

/* Syncs a file, or the names in a directory. */
int tree_sync(const char *path, struct err *e);

/* Syncs everything on the filesystem of the directory. */
int tree_sync_all(const char *dir, struct err *e);

#endif
