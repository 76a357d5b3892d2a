#ifndef VFS_CORE_JOURNAL_H
#define VFS_CORE_JOURNAL_H

#include "lib/base/arena.h"
#include "lib/base/err.h"

#include <stdint.h>

/*
 * The changes of a namespace, in order, with their author, written in the
 * transaction of the change. Consecutive writes to one file in one batch are
 * one row, and times that are set right after a change of the same file are
 * part of it. Only the newest VFS_JOURNAL_KEEP rows of all namespaces are kept.
 */
struct vfs;

#define VFS_JOURNAL_KEEP 100000

enum vfs_op {
#define VFS_OP(name, number) VFS_OP_##name = (number),
#include "vfs/core/journal.def"
#undef VFS_OP
};

struct vfs_change {
	int64_t seq;
	enum vfs_op op;
	int64_t dir; /* the directory, if the change has one */
	const char *name;
	int64_t ino;
	const char *who;
	int64_t at; /* nanoseconds since 1970 */
	/* The run that made it, or NULL; what it was doing. */
	const char *run;
	int64_t turn; /* or OPT_NONE */
	const char *tool;
};

/* Up to max rows after seq, oldest first, as an array in the arena: how many,
 * or -1. To follow a namespace, call it again with the last seq. */
int vfs_changes(struct vfs *v, int64_t seq, int max, struct vfs_change **out,
		struct arena *a, struct err *e);
int vfs_last_change(struct vfs *v, int64_t *seq, struct err *e);

const char *vfs_op_name(enum vfs_op op);

#endif
