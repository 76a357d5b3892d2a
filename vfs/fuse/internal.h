#ifndef VFS_FUSE_INTERNAL_H
#define VFS_FUSE_INTERNAL_H

#define FUSE_USE_VERSION 314

#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/base/shape.h"
#include "vfs/core/cookie.h"
#include "vfs/core/node.h"
#include "vfs/core/node_refs.h"
#include "vfs/core/vfs.h"
#include "vfs/fuse/busy_poll.h"
#include "vfs/fuse/invalidate.h"

#include <fuse3/fuse_lowlevel.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Shared by the files of the mount. Several threads serve it; a thread that
 * uses this, or the connection of `v`, must hold the lock. */
struct mnt {
	pthread_mutex_t lock;
	struct vfs *v;
	/* Increases whenever later reads must be newer than earlier ones: after
	 * a commit, and after a change by others. */
	uint64_t epoch;
	int64_t polled; /* last check for changes by others, clock_mono_ns() */
	struct fuse_session *se;
	struct notify *notify;
	struct helpers *helpers;
	unsigned changes;    /* in the open batch */
	unsigned reads;      /* in the open read transaction */
	int64_t batch_since; /* clock_mono_ns() */
	int64_t batch_ended; /* clock_mono_ns() */
	int log_copied;      /* frames, by the last checkpoint while idle */
	bool log_is_long;    /* readers end their transactions at once */
	struct wait_timer *wait_timer; /* set while a batch is open */
	int64_t seen;                  /* last known row of the journal */
	char who[32];                  /* our name in the journal */
	uint64_t init_unique;      /* the request whose reply gets more flags */
	uint32_t init_flags;       /* that libfuse does not know */
	bool kill_set_id;          /* this request clears set-id bits */
	bool awaits_forget;        /* a write over the quota: ops_data.c */
	struct node_refs accessed; /* atime.c */
	struct cookie_book cookies;
	const char *dir; /* of a user's mount; NULL: of a run's */
	int handled;     /* signals that were handled */
	bool stays;      /* a run keeps it: see must_end */
	bool writeback;  /* the kernel keeps written pages for a while */
	bool shared;     /* there may be other servers of the namespace */
};

static inline void mnt_lock(struct mnt *m)
{
	pthread_mutex_lock(&m->lock);
}

static inline void mnt_unlock(struct mnt *m)
{
	pthread_mutex_unlock(&m->lock);
}

/* Before a request that reads, or changes; -1: a reply was sent. */
int mnt_read(struct mnt *m, fuse_req_t req);
int mnt_read_raw(struct mnt *m, struct err *e);
int mnt_change(struct mnt *m, fuse_req_t req);
/* mnt_change for requests that the kernel sends as part of a change: they do
 * not count towards the size of a batch. */
int mnt_follow(struct mnt *m, fuse_req_t req);
int mnt_begin(struct mnt *m, struct err *e);  /* a batch, if none is open */
int mnt_commit(struct mnt *m, struct err *e); /* the open batch, if any */
/* Looks for changes of other processes now: 1 if the kernel's cache has none of
 * the old data, 0 while it is being invalidated, or -1. */
int mnt_look(struct mnt *m, struct err *e);
/* How long the log may get while there are requests. */
#define MNT_LOG_FRAMES 16384
bool mnt_batch_is_due(const struct mnt *m);
/* After a request, and after each wait (idle: no request came). */
void mnt_commit_if_due(struct mnt *m, bool idle);
/* The kernel releases a node, which may delete it. */
void mnt_forget(struct mnt *m, int64_t ino, uint64_t times);

static inline struct mnt *mnt_of(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

static inline int64_t ino_of(fuse_ino_t ino)
{
	return (int64_t)ino;
}

/* Attributes that are commands: 1 if it was one, 0, or -1. */
int mnt_control_get(struct mnt *m, int64_t ino, const char *name,
		    struct buf *out, struct err *e);
int mnt_control_set(struct mnt *m, int64_t ino, const char *name,
		    struct blob value, struct err *e);

void mnt_fail(fuse_req_t req, const struct err *e);
/* ENOSPC instead of EDQUOT while the kernel writes back: it would report any
 * other error as EIO when the file is closed. The kernel then has a size that
 * the file does not get; it drops it with the file's names. */
void mnt_fail_write(fuse_req_t req, int64_t ino, const struct err *e);
/* Makes the kernel drop all names of a node. */
void mnt_forget_names(struct mnt *m, int64_t ino);
void mnt_stat(struct mnt *m, const struct vfs_attr *a, struct stat *st);
void mnt_entry(struct mnt *m, const struct vfs_attr *a,
	       struct fuse_entry_param *out); /* counts a lookup */

/* atime.c: after a read, with or without known attributes; the time to show;
 * before a write (keep) or a change of the time; writing all of them with the
 * batch, and whether that is due. */
void mnt_accessed(struct mnt *m, int64_t ino);
void mnt_accessed_as(struct mnt *m, const struct vfs_attr *a);
int64_t mnt_access_time(const struct mnt *m, const struct vfs_attr *a);
void mnt_access_changed(struct mnt *m, int64_t ino, bool keep);
int mnt_access_write(struct mnt *m, struct err *e);
bool mnt_access_full(const struct mnt *m);

/* A day: the kernel's cache stays valid until we invalidate it. Beside other
 * servers, the kernel always asks. */
#define MNT_TIMEOUT 86400

static inline uint64_t mnt_timeout(const struct mnt *m)
{
	return m->shared ? 0 : MNT_TIMEOUT;
}

#define MNT_BLKSIZE 65536
#define MNT_POLL_MS 50 /* delay until others' changes are visible */

/* io.c: encoding of requests and replies. */
extern const struct fuse_custom_io mnt_io;
void mnt_init(void *arg, struct fuse_conn_info *conn);
/* Requests that libfuse does not know; false if it is not one of them. */
bool mnt_serve_raw(struct mnt *m, const void *request, size_t n);
void mnt_reply(struct mnt *m, uint64_t unique, int error, const void *p,
	       size_t n);
struct fuse_entry_out;
/* What mnt_entry gives, as it travels; `blocks` of 512 bytes. */
void mnt_entry_out(struct mnt *m, const struct vfs_attr *a, uint64_t blocks,
		   struct fuse_entry_out *out);
/* Records what libfuse does not pass on. */
void mnt_peek(struct mnt *m, const void *request, size_t n);
/* Serves one received request. Takes the lock. */
void mnt_serve_request(struct mnt *m, const struct fuse_buf *request);
/* Serves one request if there is one within this time. Takes the lock. */
void mnt_serve_one(struct mnt *m, int ms);

void fuse_tree_ops(struct fuse_lowlevel_ops *ops);
void fuse_dir_ops(struct fuse_lowlevel_ops *ops);
void fuse_data_ops(struct fuse_lowlevel_ops *ops);

#endif
