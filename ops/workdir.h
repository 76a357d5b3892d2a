#ifndef OPS_WORKDIR_H
#define OPS_WORKDIR_H

#include "lib/base/err.h"

#include <limits.h>

/*
 * A directory for work that may be killed: 0700, made beside what it will
 * become, marked by a locked file while its owner lives. What a dead owner left
 * behind is found by its mark and removed by the next one.
 */
struct workdir {
	char path[PATH_MAX - 256];
	int lock; /* -1: not open */
};

/* PARENT/PREFIX-ID; first removes those of dead owners with this prefix. */
int workdir_open(struct workdir *w, const char *parent, const char *prefix,
		 const char *id, struct err *e);

/* The directory stays, without its mark: it is what it was to become. */
int workdir_keep(struct workdir *w, struct err *e);

void workdir_close(struct workdir *w); /* removes it, unless it was kept */

/* Directories in `parent` that dead owners left: how many, or -1. Removes them
 * if `remove`. */
int workdir_stale(const char *parent, const char *prefix, bool remove,
		  struct err *e);

/* Whether the directory, or the locked file, is one of a dead owner. */
bool workdir_is_stale(const char *path);

/* A path in it, good until the next call of the same thread. */
const char *workdir_path(const struct workdir *w, const char *below);

/* Removes a file, or a directory with all below it; does not follow links. */
int tree_remove(const char *path, struct err *e);

/* Waits until a file, or a directory's names, are on the disk. */
int tree_sync(const char *path, struct err *e);

#endif
