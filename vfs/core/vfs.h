#ifndef VFS_CORE_VFS_H
#define VFS_CORE_VFS_H

#include "lib/base/err.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * A namespace: one file tree in an agent's SQLite file. Several processes may
 * have the same namespace open at once, and see each other's changes. A `struct
 * vfs` belongs to one thread, and so does its connection.
 *
 * Every call that changes something is an atomic transaction. Between vfs_begin
 * and vfs_commit it is still atomic, but is committed or lost
 * together with the others.
 *
 * Errors are those of the corresponding system call: err_errno(e->code) is the
 * errno that a program on a mount gets.
 */
struct sql;
struct vfs;

#define VFS_ROOT     1     /* the root directory's number in every namespace */
#define VFS_NAME_MAX 255   /* bytes in a name */
#define VFS_CHUNK    65536 /* contents are stored in chunks of this size */
#define VFS_SIZE_MAX (INT64_C(1) << 46) /* of a file: 64 TiB */

/* Opens namespace `name` (NULL: "main"). "name@snapshot" opens a snapshot,
 * read-only. Borrows db until vfs_close. `who` is recorded in the journal. */
int vfs_open(struct vfs **out, struct sql *db, const char *name,
	     const char *who, struct err *e);
void vfs_close(struct vfs *v); /* accepts NULL; rolls an open batch back */

/* Creates an empty namespace; `base` is the lower directory (vfs-scratch), or
 * NULL. ERR_CONFLICT if the namespace already exists. */
int vfs_create(struct sql *db, const char *name, const char *base,
	       struct err *e);
int vfs_destroy(struct sql *db, const char *name, struct err *e);

/* Records the run that has just created the namespace, in the transaction that
 * did so. An ephemeral namespace disappears when an attempt of the run ends. */
int vfs_set_run(struct sql *db, const char *name, const char *run,
		bool ephemeral, struct err *e);

/* Deletes the namespaces that were hidden when their run ended, and those that a
 * killed process was filling, one in each transaction: how many, or -1. If it is
 * killed, the next call continues. */
int vfs_gc(struct sql *db, struct err *e);

/* Deletes contents that were copied from other files and that nothing uses any
 * more, in short transactions. */
int vfs_gc_contents(struct sql *db, struct err *e);

/* Changes from now on are recorded as those of a run: `run` is its row in the
 * file; tool may be NULL. vfs_follow_run reads what is being done from that row
 * (run.doing) whenever another process has committed. */
void vfs_set_author(struct vfs *v, int64_t run, int64_t turn, const char *tool);
void vfs_follow_run(struct vfs *v, int64_t run);

/* Batches. vfs_begin waits for the writer's lock and takes it. */
int vfs_begin(struct vfs *v, struct err *e);
int vfs_commit(struct vfs *v, struct err *e);
void vfs_rollback(struct vfs *v);
bool vfs_in_batch(const struct vfs *v);

/* In between, all reads see one state, and cost less. Keep it short: an open
 * reader keeps the write-ahead log from shrinking. A call that writes ends
 * it. */
int vfs_begin_read(struct vfs *v, struct err *e);
void vfs_end_read(struct vfs *v);

/* Everything committed so far is on disk when this returns. */
int vfs_sync(struct vfs *v, struct err *e);

/* A limit of 0 means none. Over a limit: ERR_QUOTA. Lowering a limit below the
 * current usage stops growth and deletes nothing. Files that are as in the
 * lower directory do not count; such a file counts in full once it is written
 * to. */
struct vfs_usage {
	int64_t bytes, files;         /* in use, counting each hard link once */
	int64_t max_bytes, max_files; /* 0: no limit */
};

int vfs_usage(struct vfs *v, struct vfs_usage *out, struct err *e);
int vfs_set_quota(struct vfs *v, int64_t max_bytes, int64_t max_files,
		  struct err *e);

/* Whether nothing was written to it, or looked up in its lower directory, since
 * it was created or discarded: 1, 0, -1. */
int vfs_is_untouched(struct vfs *v, struct err *e);

const char *vfs_name(const struct vfs *v); /* borrowed */
const char *vfs_base(const struct vfs *v); /* host directory below, or NULL */
const char *vfs_run(const struct vfs *v);  /* that created it, or NULL */
bool vfs_is_readonly(const struct vfs *v);

#endif
