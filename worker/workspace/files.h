#ifndef WORKER_WORKSPACE_FILES_H
#define WORKER_WORKSPACE_FILES_H

#include "worker/workspace/beneath.h"

#include <time.h>

/*
 * The files of a workspace, wherever they are: in a directory, which may be a
 * mount (store_dir.c), or in the agent's namespace without a mount
 * (store_vfs.c). Both do the same, and fail with the same words. Paths are
 * those that below_path gives; nothing outside can be reached.
 */
struct store;
struct vfs;

struct store_info {
	mode_t mode;
	int64_t size;
	struct timespec modified, accessed, changed;
};

enum store_put { STORE_REPLACE, STORE_APPEND, STORE_NEW };

typedef int store_sink(void *arg, const void *p, size_t n, struct err *e);

struct store_kind {
	/* One call of a tool: with `changes` all of it or nothing, where the
	 * store can do that; kept when end, given 0, returns 0. */
	int (*begin)(struct store *s, bool changes, struct err *e);
	int (*end)(struct store *s, bool changes, int rc, struct err *e);

	/* A plain file, piece by piece. */
	int (*pieces)(struct store *s, const char *path, store_sink *fn,
		      void *arg, struct err *e);
	/* Makes directories on the way. STORE_NEW leaves one that is there. */
	int (*put)(struct store *s, const char *path, struct blob what,
		   enum store_put how, struct err *e);
	int (*make_dir)(struct store *s, const char *path, struct err *e);
	/* To a place where nothing is. */
	int (*move)(struct store *s, const char *from, const char *to,
		    struct err *e);
	int (*drop)(struct store *s, const char *path, struct err *e);
	int (*info)(struct store *s, const char *path, struct store_info *out,
		    struct err *e);
	int (*walk)(struct store *s, const char *start, below_fn *fn, void *arg,
		    struct err *e);

	/* ERR_UNSUPPORTED in a plain directory. */
	int (*snapshot)(struct store *s, const char *name, struct err *e);
	/* From a snapshot, or "": from the directory below. */
	int (*diff)(struct store *s, const char *from, struct buf *out,
		    struct err *e);
	void (*close)(struct store *s);
};

struct store {
	const struct store_kind *kind;
	struct below below; /* .dir is how paths name it, whatever the kind */
	struct vfs *vfs;
	mode_t mask; /* taken off the modes of what is made */
};

/* Takes the descriptor. */
void store_dir(struct store *s, const char *dir, int fd);

/* The agent's namespace "main". ERR_UNSUPPORTED if there is one over something
 * else. */
struct sql;
struct store_plan {
	struct sql *db;   /* borrowed */
	const char *base; /* the host directory below it; NULL: none */
	int64_t max; /* bytes that it may hold, if it is made here; 0: any */
};

int store_vfs(struct store *s, const char *dir, const struct store_plan *p,
	      struct err *e);

/* The same namespace alone. */
int store_main(struct vfs **v, const struct store_plan *p, struct err *e);

void store_close(struct store *s); /* an all-zero one is fine */

/* A whole file, at most BELOW_FILE_MAX bytes. */
int store_read(struct store *s, const char *path, struct buf *out,
	       struct err *e);

#define STORE_NO_SNAPSHOT                                          \
	"there is no such snapshot; without from there must be a " \
	"directory below the workspace"

#endif
