#ifndef WORKER_WORKSPACE_BENEATH_H
#define WORKER_WORKSPACE_BENEATH_H

#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/base/shape.h"

#include <sys/types.h>

/*
 * Files below one directory only: no "..", symbolic link or mount can leave it.
 * The directory has a path as others see it (possibly in another mount
 * namespace) and is accessed through a descriptor.
 */
struct beneath {
	int fd;          /* of the directory; closed by beneath_close */
	const char *dir; /* prefix of paths; borrowed */
};

#define BENEATH_FILE_MAX (16u << 20)

void beneath_close(struct beneath *b);

/* The error for errno and a path; -1. */
int beneath_failed(const char *path, struct err *e);
int beneath_not_plain(const char *path, struct err *e);

/* The path inside: relative ones unchanged, absolute ones if they begin with
 * dir; "." for the directory itself. NULL with ERR_DENIED. */
const char *beneath_path(const struct beneath *b, const char *path,
			 struct err *e);

/* As openat, for a result of beneath_path. ERR_NOTFOUND, ERR_DENIED if it
 * leaves the directory, else the error for errno. */
int beneath_open(const struct beneath *b, const char *path, int flags,
		 mode_t mode, struct err *e);

/* The directory of a path; *name is its last component. The caller closes it.
 * With `make`, missing directories are created. */
int beneath_parent(const struct beneath *b, const char *path, bool make,
		   const char **name, struct err *e);
int beneath_make_dir(const struct beneath *b, const char *path, struct err *e);

/*
 * Visits everything below `start` (a directory), in the order of names: a
 * directory before its content, and with `leaving` again after it. Symbolic
 * links are not followed. fn returns 0, -1 to stop with its error, or
 * BENEATH_SKIP to skip a directory.
 */
#define BENEATH_SKIP 1

struct beneath_item {
	const char *path; /* relative to start */
	const char *name;
	int depth; /* 0: in start itself */
	bool is_dir, is_file;
	bool leaving;
	bool first; /* descriptor of its directory */
};

typedef int beneath_fn(void *arg, const struct beneath_item *item,
		       struct err *e);
int beneath_walk(const struct beneath *b, const char *start, beneath_fn *fn,
		 void *arg, struct err *e);

/* Deletes everything below it, as far as possible; the directory stays. */
void beneath_empty(const struct beneath *b);

/* Reads or writes a whole file, at most BENEATH_FILE_MAX bytes; only regular
 * files. */
int beneath_read(const struct beneath *b, const char *path, struct buf *out,
		 struct err *e);
int beneath_write(const struct beneath *b, const char *path, const void *p,
		  size_t n, struct err *e);

/* Does both steps; flags are O_TRUNC, O_APPEND or O_EXCL. */
int beneath_put(const struct beneath *b, const char *path, int flags,
		const struct blob *what, struct err *e);

/* Keeps lines `line` (from 1) and the `limit` - 1 after it; 0: no limit. */
void beneath_cut_lines(struct buf *text, int64_t line, int64_t limit);

#endif
