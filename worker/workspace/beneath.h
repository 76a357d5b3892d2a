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
struct below {
	int fd;          /* of the directory; closed by below_close */
	const char *dir; /* as paths name it; borrowed */
};

#define BELOW_FILE_MAX (16u << 20)

void below_close(struct below *b);

/* What errno means for a path; -1. */
int below_failed(const char *path, struct err *e);
int below_not_plain(const char *path, struct err *e);

/* The path within: relative ones as they are, absolute ones when they begin
 * with dir; "." for itself. NULL with ERR_DENIED. */
const char *below_path(const struct below *b, const char *path, struct err *e);

/* As openat, for a path that below_path gave. ERR_NOTFOUND, ERR_DENIED for one
 * that leads out, else as errno says. */
int below_open(const struct below *b, const char *path, int flags, mode_t mode,
	       struct err *e);

/* The directory that a path is in; *name is its last component. The caller
 * closes it. With `make`, directories on the way are made. */
int below_parent(const struct below *b, const char *path, bool make,
		 const char **name, struct err *e);
int below_make_dir(const struct below *b, const char *path, struct err *e);

/*
 * Everything below `start` (a directory), in the order of names: a directory
 * before what is in it, and with `leaving` again after it. Links are not
 * followed. fn returns 0, -1 to stop with its error, or BELOW_SKIP not to look
 * into a directory.
 */
#define BELOW_SKIP 1

struct below_item {
	const char *path; /* from start */
	const char *name;
	int depth; /* 0: in start itself */
	bool is_dir, is_file;
	bool leaving;
	bool first; /* of its directory */
};

typedef int below_fn(void *arg, const struct below_item *item, struct err *e);
int below_walk(const struct below *b, const char *start, below_fn *fn,
	       void *arg, struct err *e);

/* Removes everything below it, as well as can be; the directory stays. */
void below_empty(const struct below *b);

/* A whole file, at most BELOW_FILE_MAX bytes; only plain files. */
int below_read(const struct below *b, const char *path, struct buf *out,
	       struct err *e);
int below_write(const struct below *b, const char *path, const void *p,
		size_t n, struct err *e);
int below_append(const struct below *b, const char *path, const void *p,
		 size_t n, struct err *e);

/* The two above: flags are O_TRUNC, O_APPEND or O_EXCL. */
int below_put(const struct below *b, const char *path, int flags,
	      const struct blob *what, struct err *e);

/* Keeps lines `line` (from 1) and the `limit` - 1 after it; 0: no limit. */
void below_cut_lines(struct buf *text, int64_t line, int64_t limit);

#endif
