#ifndef VFS_SEARCH_FTS_H
#define VFS_SEARCH_FTS_H

#include "lib/base/arena.h"
#include "lib/base/err.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Full-text search over the files of a namespace. Writes cost nothing: the
 * first search builds the index, and each later one updates it from the
 * journal, in short transactions; a namespace that is never searched has none.
 * A file has one entry whatever its names, so moving it costs nothing either.
 *
 * It does not include files over VFS_TEXT_MAX, files with a NUL byte near their
 * start, and unchanged files of a lower directory: grep finds those. Snapshots
 * have no index (ERR_UNSUPPORTED).
 */
#define VFS_TEXT_MAX (1 << 20)

struct vfs;
struct index_watch; /* schema/agent/search/search.h */

struct vfs_text {
	const char *query; /* words as in schema/agent/search/search.h */
	bool advanced;     /* an FTS5 expression; ERR_USAGE if it is invalid */
	const char *below; /* only files below this directory; NULL: all */
	int skip, count;   /* the page; count 0: 20, at most 1000 */
	const struct index_watch *watch; /* of a build of the index; or NULL */
};

struct vfs_text_hit {
	int64_t ino;
	const char *path;
	double score; /* bm25, more is better */
	const char *snippet;
};

/* Hits in the arena, best first; how many. */
int vfs_text_search(struct vfs *v, const struct vfs_text *t,
		    struct vfs_text_hit **hits, struct arena *a, struct err *e);

/* Updates the index; returns the number of files examined. */
int vfs_text_update(struct vfs *v, const struct index_watch *watch,
		    struct err *e);

/* Drops the index of all namespaces, even a damaged one, and rebuilds that of
 * this one. */
int vfs_text_rebuild(struct vfs *v, struct err *e);

#endif
