#include "vfs/fuse/internal.h"

#include "lib/db/sql.h"
#include "vfs/core/core.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

/* Requests about contents. */

#define READ_MAX  (1 << 20)
#define FORGET_MS 100

static void do_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	/* "not needed": the kernel does not ask again, and keeps its page
	 * cache */
	if (!mnt_of(req)->shared)
		fuse_reply_err(req, ENOSYS);
	else /* the page cache is dropped */
		fuse_reply_open(req, fi);
}

static void do_read(fuse_req_t req, fuse_ino_t ino, size_t n, off_t off,
		    struct fuse_file_info *fi)
{
	static char room[READ_MAX];
	struct mnt *m = mnt_of(req);
	struct err e;
	ssize_t got;

	(void)fi;
	if (mnt_read(m, req))
		return;
	got = vfs_pread(m->v, ino_of(ino), room, n < READ_MAX ? n : READ_MAX,
			off, &e);
	if (got < 0)
		mnt_fail(req, &e);
	else
		fuse_reply_buf(req, room, (size_t)got);
	mnt_accessed(m, ino_of(ino));
}

static int drop_set_id(struct mnt *m, int64_t ino, struct err *e)
{
	struct vfs_set set = {.what = VFS_SET_MODE};
	struct vfs_attr a;

	if (!m->kill_set_id)
		return 0;
	if (vfs_getattr(m->v, ino, &a, e))
		return -1;
	set.mode = a.mode & 07777 & (mode_t)~S_ISUID;
	if (a.mode & S_IXGRP)
		set.mode &= (mode_t)~S_ISGID;
	return vfs_setattr(m->v, ino, &set, &a, e);
}

/* A removed file counts in the quota until the kernel drops it. That may be
 * late: a notification still uses the file, or another thread has received the
 * request and waits for the lock. */
static bool await_forget(struct mnt *m)
{
	size_t before = m->v->orphans.n;
	bool kill_set_id = m->kill_set_id;

	if (!before || m->awaits_forget)
		return false;
	m->awaits_forget = true;
	for (int i = 0; i < FORGET_MS && m->v->orphans.n >= before; i++) {
		mnt_unlock(m);
		mnt_serve_one(m, 1);
		mnt_lock(m);
	}
	m->awaits_forget = false;
	m->kill_set_id = kill_set_id; /* other requests may have set it */
	return m->v->orphans.n < before;
}

/* The kernel appends where it thinks the end of the file is; another server may
 * have moved it. */
static int find_end(fuse_req_t req, fuse_ino_t ino, off_t *off)
{
	struct vfs_attr a;
	struct err e;

	if (vfs_getattr(mnt_of(req)->v, ino_of(ino), &a, &e)) {
		mnt_fail(req, &e);
		return -1;
	}
	*off = a.size;
	return 0;
}

static void do_write(fuse_req_t req, fuse_ino_t ino, const char *p, size_t n,
		     off_t off, struct fuse_file_info *fi)
{
	struct mnt *m = mnt_of(req);
	struct err e;
	int rc;

	if (mnt_change(m, req) ||
	    (m->shared && (fi->flags & O_APPEND) && find_end(req, ino, &off)))
		return;
	mnt_access_changed(m, ino_of(ino), true);
	rc = vfs_pwrite(m->v, ino_of(ino), p, n, off, &e);
	if (rc && e.code == ERR_QUOTA && await_forget(m)) {
		if (mnt_change(m, req))
			return;
		rc = vfs_pwrite(m->v, ino_of(ino), p, n, off, &e);
	}
	if (rc || drop_set_id(m, ino_of(ino), &e)) {
		mnt_fail_write(req, ino_of(ino), &e);
		return;
	}
	/* while it writes back, the kernel does not ask for st_blocks again */
	if (m->writeback)
		fuse_lowlevel_notify_inval_inode(m->se, ino, -1, 0);
	fuse_reply_write(req, n);
}

/* The kernel does not write pages back before it asks, so its pages are flushed
 * first, by another thread; this one serves the writes meanwhile. No
 * transaction of the request is open yet. */
static void flush_pages(struct mnt *m, fuse_ino_t ino)
{
	uint64_t ticket = notify_node(m->notify, ino_of(ino));

	mnt_unlock(m); /* other threads serve them, too */
	while (!notify_done(m->notify, ticket) && !fuse_session_exited(m->se))
		mnt_serve_one(m, 1);
	mnt_lock(m);
}

static void do_lseek(fuse_req_t req, fuse_ino_t ino, off_t off, int whence,
		     struct fuse_file_info *fi)
{
	struct mnt *m = mnt_of(req);
	struct err e;
	int64_t at;

	(void)fi;
	if (whence != SEEK_DATA && whence != SEEK_HOLE) {
		fuse_reply_err(req, EINVAL);
		return;
	}
	if (m->writeback)
		flush_pages(m, ino);
	if (mnt_read(m, req))
		return;
	at = vfs_seek(m->v, ino_of(ino), off, whence == SEEK_DATA, &e);
	if (at >= 0)
		fuse_reply_lseek(req, at);
	else if (e.code == ERR_NOATTR)
		fuse_reply_err(req, ENXIO);
	else
		mnt_fail(req, &e);
}

/* libfuse gives the parameters. NOLINTNEXTLINE(readability-function-size) */
static void do_copy_file_range(fuse_req_t req, fuse_ino_t in, off_t off_in,
			       struct fuse_file_info *fi_in, fuse_ino_t out,
			       off_t off_out, struct fuse_file_info *fi_out,
			       size_t n, int flags)
{
	struct vfs_span from = {ino_of(in), off_in},
			to = {ino_of(out), off_out};
	struct mnt *m = mnt_of(req);
	struct err e;
	ssize_t got;

	(void)fi_in;
	(void)fi_out;
	(void)flags;
	if (mnt_change(m, req))
		return;
	got = vfs_copy_range(m->v, from, to, n, &e);
	if (got < 0)
		mnt_fail(req, &e);
	else
		fuse_reply_write(req, (size_t)got);
}

static void do_fsync(fuse_req_t req, fuse_ino_t ino, int datasync,
		     struct fuse_file_info *fi)
{
	struct mnt *m = mnt_of(req);
	struct err e;

	(void)ino;
	(void)datasync;
	(void)fi;
	if (mnt_commit(m, &e) || vfs_sync(m->v, &e))
		mnt_fail(req, &e);
	else
		fuse_reply_err(req, 0);
}

static int grow(struct vfs *v, int64_t ino, int64_t size, struct err *e)
{
	struct vfs_set set = {.what = VFS_SET_SIZE, .size = size};
	struct vfs_attr a;

	if (vfs_getattr(v, ino, &a, e))
		return -1;
	return a.size >= size ? 0 : vfs_setattr(v, ino, &set, &a, e);
}

static void do_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t off,
			 off_t len, struct fuse_file_info *fi)
{
	struct mnt *m = mnt_of(req);
	struct err e;
	int rc = 0;

	(void)fi;
	if (mode & ~(FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE |
		     FALLOC_FL_ZERO_RANGE)) {
		fuse_reply_err(req, EOPNOTSUPP);
		return;
	}
	if (mnt_change(m, req))
		return;
	if (!(mode & FALLOC_FL_KEEP_SIZE))
		rc = grow(m->v, ino_of(ino), off + len, &e);
	if (rc == 0 && mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE))
		rc = vfs_punch(m->v, ino_of(ino), off, len, &e);
	if (rc == 0)
		rc = drop_set_id(m, ino_of(ino), &e);
	if (rc)
		mnt_fail(req, &e);
	else
		fuse_reply_err(req, 0);
}

/* Free space is what the quota leaves, or else what the underlying disk has. */
static void do_statfs(fuse_req_t req, fuse_ino_t ino)
{
	struct mnt *m = mnt_of(req);
	struct statvfs st;
	struct vfs_usage u;
	struct err e;

	(void)ino;
	if (mnt_read(m, req))
		return;
	if (vfs_usage(m->v, &u, &e)) {
		mnt_fail(req, &e);
		return;
	}
	if (statvfs(sql_path(m->v->db), &st)) {
		fuse_reply_err(req, errno);
		return;
	}
	st.f_bsize = st.f_frsize = 4096;
	st.f_namemax = VFS_NAME_MAX;
	if (u.max_bytes) {
		st.f_blocks = (fsblkcnt_t)(u.max_bytes / 4096);
		st.f_bfree = st.f_bavail =
			u.bytes < u.max_bytes
				? (fsblkcnt_t)((u.max_bytes - u.bytes) / 4096)
				: 0;
	}
	if (u.max_files) {
		st.f_files = (fsfilcnt_t)u.max_files;
		st.f_ffree = st.f_favail = u.files < u.max_files
						   ? (fsfilcnt_t)(u.max_files -
								  u.files)
						   : 0;
	}
	fuse_reply_statfs(req, &st);
}

static void do_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct mnt *m = mnt_of(req);
	struct err e;

	(void)ino;
	(void)fi;
	if (!m->shared)
		fuse_reply_err(req, ENOSYS); /* written pages arrive anyway */
	else if (mnt_commit(m, &e))
		mnt_fail(req, &e);
	else /* other servers see what was written */
		fuse_reply_err(req, 0);
}

void fuse_data_ops(struct fuse_lowlevel_ops *ops)
{
	ops->open = do_open;
	ops->flush = do_flush;
	ops->read = do_read;
	ops->write = do_write;
	ops->fsync = do_fsync;
	ops->fsyncdir = do_fsync;
	ops->fallocate = do_fallocate;
	ops->lseek = do_lseek;
	ops->copy_file_range = do_copy_file_range;
	ops->statfs = do_statfs;
}
