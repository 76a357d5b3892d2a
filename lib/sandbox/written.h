#ifndef LIB_SANDBOX_WRITTEN_H
#define LIB_SANDBOX_WRITTEN_H

#include "lib/sandbox/spec.h"

#include <limits.h>

/*
 * Paths that a run can write: its workspace and paths.write of its definition.
 * A run can replace what it writes by a symbolic link, and the next sandbox
 * would show what the link leads to. So a link in such a path is not followed
 * when a sandbox is made.
 */
struct written {
	const char *path[SANDBOX_PATHS + 1]; /* borrowed */
	int n;
};

/* The workspace may be NULL. */
struct written written_by(const struct sandbox_spec *s, const char *workspace);

/* Opens a path with O_PATH; -1 with errno, which is ELOOP for a link that is not
 * followed. System calls only. */
int written_open(const struct written *w, const char *path);

/* The path without links. False if it cannot be opened. */
bool written_resolve(const struct written *w, const char *path,
		     char real[PATH_MAX]);

#endif
