#ifndef WORKER_WORKSPACE_BENEATH_H
#define WORKER_WORKSPACE_BENEATH_H

#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/base/shape.h"

#include <sys/types.h>

/*
 * Files below one directory, and nowhere else: no "..", no link and no mount
 * magic leads out of it. The directory is named as others see it (in another
 * mount namespace, maybe) and reached by a descriptor.
 */
struct beneath {
	int fd;          /* of the directory; closed by beneath_close */
	const char *dir; /* as paths name it; borrowed */
};

#define BENEATH_FILE_MAX (16u << 20)

void beneath_close(struct beneath *b);

/* What errno means for a path; -1. */
int beneath_failed(const char *path, struct err *e);
int beneath_not_plain(const char *path, struct err *e);

/* The path within: relative ones as they are, absolute ones when they begin
 * with dir; "." for itself. NULL with ERR_DENIED. */
const char *beneath_path(const struct beneath *b, const char *path,
			 struct err *e);

/* As openat, for a path that beneath_path gave. ERR_NOTFOUND, ERR_DENIED for one
 * that leads out, else as errno says. */
int beneath_open(const struct beneath *b, const char *path, int flags,
		 mode_t mode, struct err *e);

/* The directory that a path is in; *name is its last component. The caller
 * closes it. With `make`, directories on the way are made. */
int beneath_parent(const struct beneath *b, const char *path, bool make,
		   const char **name, struct err *e);
int beneath_make_dir(const struct beneath *b, const char *path, struct err *e);

/*
 * Everything below `start` (a directory), in the order of names: a directory
 * before what is in it, and with `leaving` again after it. Links are not
 * followed. fn returns 0, -1 to stop with its error, or BENEATH_SKIP not to look
 * into a directory.
 */
#define BENEATH_SKIP 1

struct beneath_item {
	const char *path; /* from start */
	const char *name;
	int depth; /* 0: in start itself */
	bool is_dir, is_file;
	bool leaving;
	bool first; /* of its directory */
};

typedef int beneath_fn(void *arg, const struct beneath_item *item,
		       struct err *e);
int beneath_walk(const struct beneath *b, const char *start, beneath_fn *fn,
		 void *arg, struct err *e);

/* Removes everything below it, as well as can be; the directory stays. */
void beneath_empty(const struct beneath *b);

/* A whole file, at most BENEATH_FILE_MAX bytes; only plain files. */
int beneath_read(const struct beneath *b, const char *path, struct buf *out,
		 struct err *e);
int beneath_write(const struct beneath *b, const char *path, const void *p,
		  size_t n, struct err *e);

/* The two above: flags are O_TRUNC, O_APPEND or O_EXCL. */
int beneath_put(const struct beneath *b, const char *path, int flags,
		const struct blob *what, struct err *e);

/* Keeps lines `line` (from 1) and the `limit` - 1 after it; 0: no limit. */
void beneath_cut_lines(struct buf *text, int64_t line, int64_t limit);

#endif
