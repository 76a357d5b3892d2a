#ifndef VFS_SEARCH_GREP_H
#define VFS_SEARCH_GREP_H

#include "lib/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Searches contents without an index. Files with a NUL byte near their start
 * are not text and are skipped. */
struct vfs;

struct vfs_grep {
	const char *pattern;
	bool regex; /* extended, as grep -E; else a fixed string */
	bool ignore_case;
	bool names_only;  /* one call per file, at its first match */
	const char *glob; /* only files whose name or path matches; or NULL */
};

struct vfs_match {
	const char *path;
	int64_t line;     /* from 1 */
	const char *text; /* the line, without its end; not terminated */
	size_t n;
};

typedef int vfs_match_fn(void *arg, const struct vfs_match *m, struct err *e);

int vfs_grep(struct vfs *v, const char *start, const struct vfs_grep *g,
	     vfs_match_fn *fn, void *arg, struct err *e);

#endif
