#ifndef VFS_CORE_CORE_H
#define VFS_CORE_CORE_H

#include "lib/base/err.h"
#include "lib/base/shape.h"
#include "lib/db/bulk.h"
#include "lib/db/savepoint.h"
#include "lib/db/sql.h"
#include "schema/agent_queries.h"
#include "vfs/core/journal.h"
#include "vfs/core/node.h"
#include "vfs/core/node_cache.h"
#include "vfs/core/node_refs.h"
#include "vfs/core/rows.h"
#include "vfs/core/vfs.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/*
 * Shared by the files of this directory: the namespace, and tx_*, the frame of
 * every call (a transaction, or a savepoint in a batch). Only rows.h changes
 * rows.
 */
struct vfs {
	struct sql *db;
	int64_t ns;   /* namespace id */
	int64_t snap; /* the open snapshot, 0: the live tree */
	int64_t snap_next_ino;
	/* The snapshot from which a fork reads directories; 0: it has all. */
	int64_t source;
	struct node_refs read; /* directories that were read */
	char *name, *who, *base;
	char *run; /* that created it, or NULL */
	struct {
		int64_t run, turn; /* OPT_NONE: no run */
		char *tool;
		int64_t follow; /* the row that says what it does, or 0 */
	} author;               /* of changes */
	int base_fd; /* the host directory, opened at first use; -1 */
	struct {
		int64_t ino; /* 0: none is open */
		int fd;
		int64_t size, modified; /* when first seen */
		int64_t lower_ino;
		char *path;
	} host;       /* the host file that was read last */
	bool batch;   /* the transaction belongs to the caller */
	bool inside;  /* a call that consists of calls is in progress */
	bool reading; /* vfs_begin_read is open */
	/* Valid within a write transaction: */
	uint32_t generation;   /* of the file, when these were read */
	uint64_t commits;      /* of the connection, after our last one */
	int64_t keep;          /* newest snapshot: before-images are for it */
	int64_t keep_next_ino; /* nodes from this number on are newer than it */
	int64_t next_ino;      /* 0: not known */
	int64_t next_lower;    /* of nodes of the lower directory */
	bool filling;          /* such a node is being added */
	struct vfs_usage usage;
	bool quota, usage_changed;
	struct vfs_usage usage_before; /* at the start of a call in a batch */
	bool lost;                     /* SQLite has rolled the batch back */
	/* A mount: calls in a batch have no savepoints. A call that fails after
	 * a change makes the whole batch fail. */
	bool batch_atomic;
	/* A mount: the nodes that the open batch has changed so far, which
	 * other connections do not see yet. */
	bool tracks;
	struct node_refs changed;
	struct sql_savepoint call; /* in a batch */
	uint64_t node_cache_before;
	struct node_cache node_cache;
	int64_t last_written;     /* node of the last journal row, if a write */
	int64_t last_journal_ino; /* node of the last journal row */
	int64_t last_journal;     /* number of that row */
	struct node_refs held;
	struct node_refs orphans; /* nameless nodes that this process has open:
				   * 1, or 2 if there is a row */
	int64_t own_start; /* of this process, once it was needed: orphan.c */
	uint8_t *chunk, *packed, *work; /* room for one chunk each */
	struct sql_blob *direct;        /* blob.c; while it reads */
};

static inline int64_t id_of(const struct vfs *v, int64_t ino)
{
	return (v->ns << NS_SHIFT) | ino;
}

static inline struct vfs_range range_of(int64_t ns)
{
	return (struct vfs_range){.lo = ns << NS_SHIFT,
				  .hi = (ns + 1) << NS_SHIFT};
}

static inline struct blob blob_text(const char *text)
{
	return (struct blob){text, strlen(text)};
}

/* vfs_open without a search for orphans: inside any transaction. */
int vfs_attach(struct vfs **out, struct sql *db, const char *name,
	       const char *who, struct err *e);

/* Every public call that writes: if (tx_begin(v, e)) return -1; return
 * tx_end(v, inner(...), e); tx_end returns rc, or -1. */
int tx_begin(struct vfs *v, struct err *e);
int tx_end(struct vfs *v, int rc, struct err *e);
int tx_refresh(struct vfs *v, struct err *e); /* part of tx_begin */
void tx_invalidate(void); /* rows were changed without tx_begin */
/* Runs several calls as one: all of them or none, in a batch or not. */
int tx_many(struct vfs *v,
	    int (*inner)(struct vfs *v, const void *arg, struct err *e),
	    const void *arg, struct err *e);
/* The same for calls that read: tx_read, tx_read_end. */
int tx_read(struct vfs *v, struct err *e);
int tx_read_end(struct vfs *v, int rc);

/* tree.c */
int dir_get(struct vfs *v, int64_t ino, struct node *out, struct err *e);
int node_lookup(struct vfs *v, struct vfs_at at, struct node *out,
		struct err *e);
int node_make(struct vfs *v, struct vfs_at at, const struct vfs_new *want,
	      struct node *n, struct err *e);
int node_remove(struct vfs *v, struct vfs_at at, struct node *n, bool want_dir,
		struct err *e);
int dir_changed(struct vfs *v, struct node *dir, int64_t subdirs,
		struct err *e);
int one_link_less(struct vfs *v, struct node *n, struct err *e);
void node_place(struct node *n, struct vfs_at at);
int name_check(const char *name, struct err *e);

int xattr_drop_all(struct vfs *v, struct node *n, struct err *e);
/* The permission bits of the node were set: its ACL gets the same. */
int acl_follow_mode(struct vfs *v, const struct node *n, struct err *e);

/* orphan.c: nodes that outlive their last name. */
int orphan_is_open(struct vfs *v, int64_t ino, struct err *e); /* 1, 0, -1 */
int orphans_write(struct vfs *v, struct err *e);               /* at commit */
int orphans_reap(struct vfs *v, struct err *e); /* of dead processes */
void orphans_release(struct vfs *v);            /* all of ours */

/* content.c */
ssize_t data_read(struct vfs *v, const struct node *n, void *p, size_t len,
		  int64_t off, struct err *e);
int data_write(struct vfs *v, struct node *n, const void *p, size_t len,
	       int64_t off, struct err *e); /* saves the node, too */
int data_truncate(struct vfs *v, struct node *n, int64_t size, struct err *e);
int data_drop(struct vfs *v, struct node *n, struct err *e);
/* Stores the content of the lower file that the node still shows, so that it no
 * longer needs the lower file. */
int data_keep_lower(struct vfs *v, struct node *n, struct err *e);

/* namespace.c: checks the quota and counts usage; negative numbers reduce
 * it. */
int quota_reserve(struct vfs *v, int64_t bytes, int64_t files, struct err *e);
/* Before the node gets this size. */
int quota_resize(struct vfs *v, struct node *n, int64_t size, struct err *e);

/* journal.c: part of the transaction that makes the change. */
int journal_add(struct vfs *v, enum vfs_op op, struct vfs_at at, int64_t ino,
		struct err *e);
int journal_node(struct vfs *v, enum vfs_op op, const struct node *n,
		 struct err *e); /* one row for a run of writes */
int journal_times(struct vfs *v, const struct node *n,
		  struct err *e); /* part of the change before, if of n */

int quota_recount(struct vfs *v, struct err *e);
int quota_write(struct vfs *v, struct err *e); /* the usage, if it changed */
/* A fork gets the quota and the usage of its parent: those of the snapshot, or
 * with snap 0 the current ones. */
int quota_inherit(struct vfs *parent, int64_t snap, struct vfs *fork,
		  struct err *e);
int ns_add_root(struct vfs *v, struct err *e);
int ns_check_free(struct sql *db, const char *name, struct err *e);
/* vfs_destroy, also of a hidden one. */
int ns_destroy(struct sql *db, const char *name, struct err *e);
/* Prefix of the name of a namespace that vfs_fork_across fills: "PID-START"
 * follows, the process. */
#define VFS_COPY ".copy-"

/* vfs/snapshot/snapshot.c, vfs/snapshot/rollback.c */
int snapshot_add(struct vfs *v, const char *name, bool hidden, struct err *e);
int snapshot_drop(struct vfs *v, int64_t snap, struct err *e);
int snapshot_find(struct vfs *v, const char *name,
		  struct vfs_snap_find_row *out, struct err *e);
/* The first rows of a namespace that are kept under a snapshot. */
struct vfs_undo_page undo_page(int64_t ns, int64_t snap);
int snapshot_is_newest(struct vfs *v, int64_t snap, int64_t next_ino,
		       struct err *e);
int range_drop(struct vfs *v, const struct vfs_range *r, struct err *e);

/* walk.c: reports a directory inside itself, in a damaged file. Returns -1. */
int within_itself(int64_t dir, struct err *e);

/* vfs/snapshot/merge.c: a copy of a node with its attributes, contents shared. */
int node_copy(struct vfs *from, const struct node *n, struct vfs *to,
	      struct vfs_at at, struct err *e);

#endif
