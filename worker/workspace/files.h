#ifndef WORKER_WORKSPACE_FILES_H
#define WORKER_WORKSPACE_FILES_H

#include "worker/workspace/beneath.h"

#include <time.h>

/*
 * The files of a workspace, wherever they are: in a directory, which may be a
 * mount (files_dir.c), or in the agent's namespace without a mount
 * (files_vfs.c). Both do the same, and fail with the same words. Paths are
 * those that beneath_path gives; nothing outside can be reached.
 */
struct files;
struct vfs;

struct files_info {
	mode_t mode;
	int64_t size;
	struct timespec modified, accessed, changed;
};

enum files_put { FILES_REPLACE, FILES_APPEND, FILES_NEW };

typedef int files_sink(void *arg, const void *p, size_t n, struct err *e);

struct files_kind {
	/* One call of a tool: with `changes` all of it or nothing, where the
	 * store can do that; kept when end, given 0, returns 0. */
	int (*begin)(struct files *s, bool changes, struct err *e);
	int (*end)(struct files *s, bool changes, int rc, struct err *e);

	/* A plain file, piece by piece. */
	int (*pieces)(struct files *s, const char *path, files_sink *fn,
		      void *arg, struct err *e);
	/* Makes directories on the way. FILES_NEW leaves one that is there. */
	int (*put)(struct files *s, const char *path, struct blob what,
		   enum files_put how, struct err *e);
	int (*make_dir)(struct files *s, const char *path, struct err *e);
	/* To a place where nothing is. */
	int (*move)(struct files *s, const char *from, const char *to,
		    struct err *e);
	int (*drop)(struct files *s, const char *path, struct err *e);
	int (*info)(struct files *s, const char *path, struct files_info *out,
		    struct err *e);
	int (*walk)(struct files *s, const char *start, beneath_fn *fn,
		    void *arg, struct err *e);

	/* ERR_UNSUPPORTED in a plain directory. */
	int (*snapshot)(struct files *s, const char *name, struct err *e);
	/* From a snapshot, or "": from the directory below. */
	int (*diff)(struct files *s, const char *from, struct buf *out,
		    struct err *e);
	void (*close)(struct files *s);
};

struct files {
	const struct files_kind *kind;
	struct beneath
		beneath; /* .dir is how paths name it, whatever the kind */
	struct vfs *vfs;
	mode_t mask; /* taken off the modes of what is made */
};

/* Takes the descriptor. */
void files_dir(struct files *s, const char *dir, int fd);

/* The agent's namespace "main". ERR_UNSUPPORTED if there is one over something
 * else. */
struct sql;
struct files_plan {
	struct sql *db;   /* borrowed */
	const char *base; /* the host directory below it; NULL: none */
	int64_t max; /* bytes that it may hold, if it is made here; 0: any */
};

int files_vfs(struct files *s, const char *dir, const struct files_plan *p,
	      struct err *e);

/* The same namespace alone. */
int files_main(struct vfs **v, const struct files_plan *p, struct err *e);

void files_close(struct files *s); /* an all-zero one is fine */

/* A whole file, at most BENEATH_FILE_MAX bytes. */
int files_read(struct files *s, const char *path, struct buf *out,
	       struct err *e);

#define FILES_NO_SNAPSHOT                                          \
	"there is no such snapshot; without from there must be a " \
	"directory below the workspace"

#endif
