#ifndef VFS_SNAPSHOT_DIFF_H
#define VFS_SNAPSHOT_DIFF_H

#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "vfs/snapshot/diff_source.h"

/*
 * The differences between two sides, sorted by name. A directory that is only
 * on one side comes before its entries (added) or after them (removed), so that
 * the list can be applied in order. Times do not count.
 *
 * Between a namespace and one of its snapshots, or two of them, only
 * directories with changes are read.
 */
enum vfs_difference_kind {
	VFS_ADDED,
	VFS_REMOVED,
	VFS_CHANGED, /* content */
	VFS_MODE,    /* mode, owner or attributes only */
	VFS_UNMERGED /* the host has removed it; the namespace has it */
};

struct vfs_difference {
	enum vfs_difference_kind kind;
	const char *path;
	struct vfs_attr a, b; /* before and after, as far as they are there */
	/* The host added it after the namespace had read the directory: it is
	 * not a change of the namespace. */
	bool is_unseen;
};

typedef int vfs_difference_fn(void *arg, const struct vfs_difference *d,
			      struct err *e);

/* Calls fn for every difference; stops if it returns other than 0. */
int vfs_diff(const struct diff_source *a, const struct diff_source *b,
	     vfs_difference_fn *fn, void *arg, struct err *e);

/* One difference as unified text, like `git diff --no-index`. */
int vfs_diff_text(const struct diff_source *a, const struct diff_source *b,
		  const struct vfs_difference *d, struct buf *out,
		  struct err *e);

/* All changes since a snapshot, or "": since the lower directory, as text of at
 * most max bytes; its last line states if it was cut. ERR_NOTFOUND if there is
 * no such snapshot or no lower directory. */
int vfs_diff_since(struct vfs *v, const char *snapshot, size_t max,
		   struct buf *out, struct err *e);

/* "A", "D", "M", "m", "U" */
const char *vfs_difference_letter(enum vfs_difference_kind kind);

#endif
