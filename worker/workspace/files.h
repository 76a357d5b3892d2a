#ifndef WORKER_WORKSPACE_FILES_H
#define WORKER_WORKSPACE_FILES_H

#include "lib/base/shape.h"
#include "worker/workspace/beneath.h"

#include <time.h>

/*
 * The files of a workspace: in a directory, which may be a mount (files_dir.c),
 * or in the agent's namespace without a mount (files_vfs.c). Both behave alike
 * and fail with the same errors. Paths are results of beneath_path; nothing
 * outside can be accessed.
 */
struct files;
struct sql;
struct vfs;

struct files_info {
	mode_t mode;
	int64_t size;
	struct timespec modified, accessed, changed;
};

enum files_put { FILES_REPLACE, FILES_APPEND, FILES_NEW };

typedef int files_sink(void *arg, const void *p, size_t n, struct err *e);

struct files_kind {
	/* One call of a tool: with `changes` it is atomic, if the files support
	 * that; it is committed if end is called with 0 and returns 0. */
	int (*begin)(struct files *s, bool changes, struct err *e);
	int (*end)(struct files *s, bool changes, int rc, struct err *e);

	/* Reads a regular file in pieces. */
	int (*pieces)(struct files *s, const char *path, files_sink *fn,
		      void *arg, struct err *e);
	/* Creates missing directories. FILES_NEW does not replace an existing
	 * file. */
	int (*put)(struct files *s, const char *path, struct blob what,
		   enum files_put how, struct err *e);
	int (*make_dir)(struct files *s, const char *path, struct err *e);
	/* The target must not exist. */
	int (*move)(struct files *s, const char *from, const char *to,
		    struct err *e);
	int (*drop)(struct files *s, const char *path, struct err *e);
	int (*info)(struct files *s, const char *path, struct files_info *out,
		    struct err *e);
	int (*walk)(struct files *s, const char *start, beneath_fn *fn,
		    void *arg, struct err *e);

	/* ERR_UNSUPPORTED in a plain directory. */
	int (*snapshot)(struct files *s, const char *name, struct err *e);
	/* From a snapshot, or "": from the lower directory. */
	int (*diff)(struct files *s, const char *from, struct buf *out,
		    struct err *e);
	/* Later changes are those of a run, a turn and a tool; NULL: recorded
	 * by the process that serves the mount. */
	void (*author)(struct files *s, int64_t run, int64_t turn,
		       const char *tool);
	void (*close)(struct files *s);
};

struct files {
	const struct files_kind *kind;
	struct beneath beneath; /* .dir is the prefix of paths, for any kind */
	struct vfs *vfs;
	const char *lower;     /* its lower directory, or NULL */
	struct sql *ephemeral; /* the namespace is deleted when it is closed */
	mode_t mask;           /* umask of new files */
};

/* Takes the descriptor. */
void files_dir(struct files *s, const char *dir, int fd);

/*
 * The namespace of a run, created or forked if the plan says so. If it is killed
 * meanwhile, or called again by a later attempt of the run, there is one
 * namespace. ERR_UNSUPPORTED: it does not exist, or exists and should not, or has
 * another lower directory.
 */
#define FILES_PLAN(F, S)                                                     \
	F(S, text, name)       /* of the namespace */                        \
	F(S, text, make)       /* never, missing, always: start_message.h */ \
	F(S, text, base)       /* lower directory of a new one, or NULL */   \
	F(S, text, fork_of)    /* that it is forked from, or NULL */         \
	F(S, text, fork_agent) /* another agent, or NULL */                  \
	F(S, text, fork_db)    /* its file */                                \
	F(S, text, home)       /* of skep, which is hidden from runs */      \
	F(S, text, run)        /* that creates it */                         \
	F(S, bool, ephemeral)                                                \
	F(S, bool, shared) /* other runs may use it at the same time */      \
	F(S, i64, max)     /* limit of the bytes of a new one; 0: none */
SHAPE_DECLARE(files_plan, FILES_PLAN);

/* `progress` is called from time to time while contents of another agent's file
 * are copied; or NULL. */
int files_namespace(struct vfs **v, struct sql *db, const struct files_plan *p,
		    void (*progress)(void), struct err *e);

/* The same as files. Borrows db. */
int files_vfs(struct files *s, const char *dir, struct sql *db,
	      const struct files_plan *p, struct err *e);

void files_close(struct files *s); /* may be all zero */

/* Reads or writes a whole file, at most BENEATH_FILE_MAX bytes. */
int files_read(struct files *s, const char *path, struct buf *out,
	       struct err *e);

#define FILES_NO_SNAPSHOT                                          \
	"there is no such snapshot; without from there must be a " \
	"directory below the workspace"

#endif
