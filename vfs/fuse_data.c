#include "vfs/fuse_core.h"

#include "db/sql.h"
#include "vfs/core.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

/* Requests about contents, and about directories as lists. */

#define READ_MAX (1 << 20)

static void do_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	(void)fi;
	/* "not needed": the kernel asks no more, and keeps its page cache */
	fuse_reply_err(req, ENOSYS);
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

static void do_write(fuse_req_t req, fuse_ino_t ino, const char *p, size_t n,
		     off_t off, struct fuse_file_info *fi)
{
	struct mnt *m = mnt_of(req);
	struct err e;

	(void)fi;
	if (mnt_change(m, req))
		return;
	if (vfs_pwrite(m->v, ino_of(ino), p, n, off, &e) ||
	    drop_set_id(m, ino_of(ino), &e))
		mnt_fail(req, &e);
	else
		fuse_reply_write(req, n);
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

/* Writes zeros; whole chunks of zeros take next to no room. */
static int zero(struct vfs *v, int64_t ino, int64_t off, int64_t len,
		struct err *e)
{
	static const char zeros[VFS_CHUNK];
	struct vfs_attr a;

	if (vfs_getattr(v, ino, &a, e))
		return -1;
	if (off + len > a.size)
		len = a.size - off;
	while (len > 0) {
		size_t n = VFS_CHUNK - (size_t)(off % VFS_CHUNK);

		if ((int64_t)n > len)
			n = (size_t)len;
		if (vfs_pwrite(v, ino, zeros, n, off, e))
			return -1;
		off += (int64_t)n;
		len -= (int64_t)n;
	}
	return 0;
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
	if (mode & ~(FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE)) {
		fuse_reply_err(req, EOPNOTSUPP);
		return;
	}
	if (mnt_change(m, req))
		return;
	if (mode & FALLOC_FL_PUNCH_HOLE)
		rc = zero(m->v, ino_of(ino), off, len, &e);
	else if (!(mode & FALLOC_FL_KEEP_SIZE))
		rc = grow(m->v, ino_of(ino), off + len, &e);
	if (rc == 0)
		rc = drop_set_id(m, ino_of(ino), &e);
	if (rc)
		mnt_fail(req, &e);
	else
		fuse_reply_err(req, 0);
}

/* An open directory: the list as it was when it was (re)wound. */
static void do_opendir(fuse_req_t req, fuse_ino_t ino,
		       struct fuse_file_info *fi)
{
	struct vfs_dir *d = calloc(1, sizeof *d);

	(void)ino;
	if (!d) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	fi->fh = (uint64_t)(uintptr_t)d;
	fi->cache_readdir = 1;
	fi->keep_cache = 1;
	fuse_reply_open(req, fi);
}

static struct vfs_dir *dir_of(const struct fuse_file_info *fi)
{
	return (struct vfs_dir *)(uintptr_t)fi->fh;
}

static void do_releasedir(fuse_req_t req, fuse_ino_t ino,
			  struct fuse_file_info *fi)
{
	(void)ino;
	vfs_dir_fini(dir_of(fi));
	free(dir_of(fi));
	fuse_reply_err(req, 0);
}

/* Entry number i, where 0 and 1 are "." and "..": false at the end. */
static bool entry_at(const struct vfs_dir *d, size_t i, int64_t self,
		     struct vfs_entry *out)
{
	if (i < 2) {
		*out = (struct vfs_entry){self, DT_DIR, i ? ".." : "."};
		return true;
	}
	if (i - 2 >= d->n)
		return false;
	*out = d->entries[i - 2];
	return true;
}

static size_t add_plain(fuse_req_t req, char *p, size_t room,
			const struct vfs_entry *en, off_t next)
{
	struct stat st = {.st_ino = (ino_t)en->ino,
			  .st_mode = (mode_t)en->type << 12};

	return fuse_add_direntry(req, p, room, en->name, &st, next);
}

/* An entry that is gone by now takes no room. */
static size_t add_plus(fuse_req_t req, char *p, size_t room,
		       const struct vfs_entry *en, off_t next)
{
	struct mnt *m = mnt_of(req);
	struct fuse_entry_param param = {0};
	bool dots = en->name[0] == '.' &&
		    (!en->name[1] || !strcmp(en->name, ".."));
	struct vfs_attr a;
	struct err e;

	if (fuse_add_direntry_plus(req, NULL, 0, en->name, NULL, 0) > room)
		return room + 1;
	if (dots) {
		param.attr.st_ino = (ino_t)en->ino;
		param.attr.st_mode = S_IFDIR;
	} else if (vfs_getattr(m->v, en->ino, &a, &e)) {
		return 0;
	} else {
		mnt_entry(m, &a, &param);
	}
	return fuse_add_direntry_plus(req, p, room, en->name, &param, next);
}

static void list(fuse_req_t req, size_t size, off_t off,
		 struct fuse_file_info *fi, fuse_ino_t ino, bool plus)
{
	static char room[READ_MAX];
	struct vfs_dir *d = dir_of(fi);
	struct mnt *m = mnt_of(req);
	struct vfs_entry en;
	size_t used = 0;
	struct err e;

	if (mnt_read(m, req))
		return;
	if (off == 0) {
		vfs_dir_fini(d);
		if (vfs_readdir(m->v, ino_of(ino), d, &e)) {
			mnt_fail(req, &e);
			return;
		}
	}
	if (size > sizeof room)
		size = sizeof room;
	for (size_t i = (size_t)off; entry_at(d, i, ino_of(ino), &en); i++) {
		size_t n = (plus ? add_plus : add_plain)(
			req, room + used, size - used, &en, (off_t)i + 1);

		if (n > size - used)
			break;
		used += n;
	}
	fuse_reply_buf(req, room, used);
}

static void do_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		       struct fuse_file_info *fi)
{
	list(req, size, off, fi, ino, false);
}

static void do_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size,
			   off_t off, struct fuse_file_info *fi)
{
	list(req, size, off, fi, ino, true);
}

/* Free is what the quota leaves, or else what the disk below has. */
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
	(void)ino;
	(void)fi;
	fuse_reply_err(req,
		       ENOSYS); /* asks no more; written pages come anyway */
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
	ops->opendir = do_opendir;
	ops->readdir = do_readdir;
	ops->readdirplus = do_readdirplus;
	ops->releasedir = do_releasedir;
	ops->statfs = do_statfs;
}
