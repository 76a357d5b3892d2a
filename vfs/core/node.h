#ifndef VFS_CORE_NODE_H
#define VFS_CORE_NODE_H

#include "lib/base/arena.h"
#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/base/shape.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The tree by node number, as the kernel sees it: the FUSE mount calls these
 * functions, and path.h is built on them. A name is one component, without '/',
 * at most VFS_NAME_MAX bytes. No permission is checked: a user who may open the
 * agent file may do everything in it (on a mount, the kernel checks).
 */
struct vfs;

struct vfs_attr {
	int64_t ino;
	mode_t mode;
	uint32_t nlink;
	uint32_t uid, gid;
	uint64_t rdev;
	int64_t size;
	int64_t accessed, modified, changed,
		created; /* nanoseconds since 1970 */
};

/* The node to create. `target` is for symbolic links, and is copied. */
struct vfs_new {
	mode_t mode; /* with the type and the final permission bits */
	uint32_t uid, gid;
	uint64_t rdev;
	const char *target;
};

struct vfs_at {
	int64_t dir;
	const char *name;
};

int vfs_lookup(struct vfs *v, struct vfs_at at, struct vfs_attr *out,
	       struct err *e);
int vfs_getattr(struct vfs *v, int64_t ino, struct vfs_attr *out,
		struct err *e);
int vfs_make(struct vfs *v, struct vfs_at at, const struct vfs_new *n,
	     struct vfs_attr *out, struct err *e);
/* A file without a name; the caller must hold it. vfs_link can give it a
 * name. */
int vfs_make_nameless(struct vfs *v, const struct vfs_new *n,
		      struct vfs_attr *out, struct err *e);
int vfs_link(struct vfs *v, int64_t ino, struct vfs_at at, struct vfs_attr *out,
	     struct err *e);
int vfs_unlink(struct vfs *v, struct vfs_at at, struct err *e);
int vfs_rmdir(struct vfs *v, struct vfs_at at, struct err *e);

#define VFS_NOREPLACE 1u /* as renameat2(2) */
#define VFS_EXCHANGE  2u
int vfs_rename(struct vfs *v, struct vfs_at from, struct vfs_at to,
	       unsigned flags, struct err *e);

/* Which of the fields below to set. */
enum {
	VFS_SET_MODE = 1,
	VFS_SET_UID = 2,
	VFS_SET_GID = 4,
	VFS_SET_SIZE = 8,
	VFS_SET_ACCESSED = 16,
	VFS_SET_MODIFIED = 32,
	VFS_SET_CHANGED = 64,
	VFS_SET_TIMES = VFS_SET_ACCESSED | VFS_SET_MODIFIED | VFS_SET_CHANGED
};

struct vfs_set {
	unsigned what;
	mode_t mode; /* permission bits only */
	uint32_t uid, gid;
	int64_t size, accessed, modified, changed;
};

int vfs_setattr(struct vfs *v, int64_t ino, const struct vfs_set *set,
		struct vfs_attr *out, struct err *e);

/* Sets only the access time: no other time changes, and no snapshot keeps
 * it. */
int vfs_set_accessed(struct vfs *v, int64_t ino, int64_t at, struct err *e);

/* Number of bytes read, fewer only at the end of the file; -1 on failure. */
ssize_t vfs_pread(struct vfs *v, int64_t ino, void *p, size_t n, int64_t off,
		  struct err *e);
int vfs_pwrite(struct vfs *v, int64_t ino, const void *p, size_t n, int64_t off,
	       struct err *e);

/* The start of the next data, or hole, at or after an offset, in steps of
 * VFS_CHUNK; -1 on failure, ERR_NOATTR if there is none. */
int64_t vfs_seek(struct vfs *v, int64_t ino, int64_t off, bool data,
		 struct err *e);
/* Replaces a range by zeros that take no space. The size stays. */
int vfs_punch(struct vfs *v, int64_t ino, int64_t off, int64_t len,
	      struct err *e);
/* Number of bytes stored for a file, without its holes. */
int64_t vfs_allocated(struct vfs *v, const struct vfs_attr *a);

struct vfs_span {
	int64_t ino, off;
};

/* Copies a range of one file to another, whole chunks by reference: number of
 * bytes copied, fewer only at the end of the source or after 16 MiB; -1. */
ssize_t vfs_copy_range(struct vfs *v, struct vfs_span from, struct vfs_span to,
		       size_t n, struct err *e);

int vfs_readlink(struct vfs *v, int64_t ino, struct buf *out, struct err *e);

/* A directory at one moment, in the order of its names, without "." and "..". A
 * slow walk meets every entry once, whatever happens to the directory
 * meanwhile. Entries are in the arena. */
struct vfs_entry {
	int64_t ino;
	unsigned type; /* DT_DIR and so on */
	const char *name;
};

struct vfs_dir {
	struct arena mem;
	struct vfs_entry *entries;
	size_t n;
};

int vfs_readdir(struct vfs *v, int64_t dir, struct vfs_dir *out, struct err *e);
void vfs_dir_fini(struct vfs_dir *d);

/* A held node outlives its last name until it was released as often as it was
 * held. */
void vfs_ref(struct vfs *v, int64_t ino);
void vfs_unref(struct vfs *v, int64_t ino, uint64_t times);

/* The server of a mount registers itself: then other processes leave the nodes
 * that they remove to it. There is one for each namespace, or several that are
 * shared: returns 1 if there is already another, whose pid is *other. Neither is
 * part of a batch. */
int vfs_open_process_begin(struct vfs *v, bool shared, int64_t *other,
			   struct err *e);
void vfs_open_process_end(struct vfs *v);

/* Extended attributes. Values are at most VFS_XATTR_MAX bytes. */
#define VFS_XATTR_MAX     65536
#define VFS_XATTR_CREATE  1 /* fail if it exists */
#define VFS_XATTR_REPLACE 2 /* fail if it does not */
int vfs_getxattr(struct vfs *v, int64_t ino, const char *name, struct buf *out,
		 struct err *e);
int vfs_setxattr(struct vfs *v, int64_t ino, const char *name,
		 struct blob value, int flags, struct err *e);
int vfs_rmxattr(struct vfs *v, int64_t ino, const char *name, struct err *e);

/* Names one after the other, each ended by a NUL, as listxattr(2). */
int vfs_listxattr(struct vfs *v, int64_t ino, struct buf *out, struct err *e);

#endif
