#include "vfs/fuse/internal.h"

#include "lib/base/buf.h"
#include "vfs/core/acl.h"
#include "vfs/core/nanos.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Requests about names and nodes. */

static struct vfs_at at_of(fuse_ino_t dir, const char *name)
{
	return (struct vfs_at){ino_of(dir), name};
}

void mnt_stat(struct mnt *m, const struct vfs_attr *a, struct stat *st)
{
	memset(st, 0, sizeof *st);
	st->st_ino = (ino_t)a->ino;
	st->st_mode = a->mode;
	st->st_nlink = a->nlink;
	st->st_uid = a->uid;
	st->st_gid = a->gid;
	st->st_rdev = a->rdev;
	st->st_size = a->size;
	st->st_blocks = (blkcnt_t)(vfs_allocated(m->v, a) + 511) / 512;
	st->st_blksize = MNT_BLKSIZE;
	st->st_atim = nanos_spec(mnt_access_time(m, a));
	st->st_mtim = nanos_spec(a->modified);
	st->st_ctim = nanos_spec(a->changed);
}

void mnt_entry(struct mnt *m, const struct vfs_attr *a,
	       struct fuse_entry_param *out)
{
	memset(out, 0, sizeof *out);
	out->ino = (fuse_ino_t)a->ino;
	out->attr_timeout = out->entry_timeout = (double)mnt_timeout(m);
	mnt_stat(m, a, &out->attr);
	vfs_ref(m->v, a->ino);
}

void mnt_fail(fuse_req_t req, const struct err *e)
{
	fuse_reply_err(req, err_errno(e->code));
}

void mnt_fail_write(fuse_req_t req, int64_t ino, const struct err *e)
{
	struct mnt *m = mnt_of(req);

	if (e->code == ERR_QUOTA && m->writeback) {
		fuse_reply_err(req, ENOSPC);
		mnt_forget_names(m, ino);
	} else {
		mnt_fail(req, e);
	}
}

static void reply_entry(fuse_req_t req, const struct vfs_attr *a)
{
	struct fuse_entry_param p;

	mnt_entry(mnt_of(req), a, &p);
	fuse_reply_entry(req, &p);
}

static void do_lookup(fuse_req_t req, fuse_ino_t dir, const char *name)
{
	struct mnt *m = mnt_of(req);
	struct fuse_entry_param none = {
		.entry_timeout = (double)mnt_timeout(m)};
	struct vfs_attr a;
	struct err e;

	if (mnt_read(m, req))
		return;
	if (!vfs_lookup(m->v, at_of(dir, name), &a, &e))
		reply_entry(req, &a);
	else if (e.code == ERR_NOTFOUND)
		fuse_reply_entry(req, &none); /* the kernel caches that, too */
	else
		mnt_fail(req, &e);
}

static void do_forget(fuse_req_t req, fuse_ino_t ino, uint64_t n)
{
	mnt_forget(mnt_of(req), ino_of(ino), n);
	fuse_reply_none(req);
}

static void do_forget_multi(fuse_req_t req, size_t count,
			    struct fuse_forget_data *list)
{
	for (size_t i = 0; i < count; i++)
		mnt_forget(mnt_of(req), ino_of(list[i].ino), list[i].nlookup);
	fuse_reply_none(req);
}

static void do_getattr(fuse_req_t req, fuse_ino_t ino,
		       struct fuse_file_info *fi)
{
	struct mnt *m = mnt_of(req);
	struct vfs_attr a;
	struct stat st;
	struct err e;

	(void)fi;
	if (mnt_read(m, req))
		return;
	if (vfs_getattr(m->v, ino_of(ino), &a, &e)) {
		mnt_fail(req, &e);
		return;
	}
	mnt_stat(m, &a, &st);
	fuse_reply_attr(req, &st, (double)mnt_timeout(m));
}

static const struct {
	int fuse;
	unsigned ours;
} set_flags[] = {
	{FUSE_SET_ATTR_MODE, VFS_SET_MODE},
	{FUSE_SET_ATTR_UID, VFS_SET_UID},
	{FUSE_SET_ATTR_GID, VFS_SET_GID},
	{FUSE_SET_ATTR_SIZE, VFS_SET_SIZE},
	{FUSE_SET_ATTR_ATIME, VFS_SET_ACCESSED},
	{FUSE_SET_ATTR_MTIME, VFS_SET_MODIFIED},
	{FUSE_SET_ATTR_CTIME, VFS_SET_CHANGED},
};

static struct vfs_set set_of(const struct stat *st, int what)
{
	struct timespec now;
	struct vfs_set set = {
		.mode = st->st_mode,
		.uid = st->st_uid,
		.gid = st->st_gid,
		.size = st->st_size,
		.accessed = nanos_of(st->st_atim),
		.modified = nanos_of(st->st_mtim),
		.changed = nanos_of(st->st_ctim),
	};

	for (size_t i = 0; i < sizeof set_flags / sizeof set_flags[0]; i++)
		if (what & set_flags[i].fuse)
			set.what |= set_flags[i].ours;
	clock_gettime(CLOCK_REALTIME, &now);
	if (what & FUSE_SET_ATTR_ATIME_NOW)
		set.accessed = nanos_of(now);
	if (what & FUSE_SET_ATTR_MTIME_NOW)
		set.modified = nanos_of(now);
	return set;
}

/* A write or a truncation by a user without the privilege clears set-id
 * bits. */
static void kill_set_id(struct mnt *m, struct vfs_set *set, int64_t ino)
{
	struct vfs_attr a;
	struct err e;

	if (!m->kill_set_id || vfs_getattr(m->v, ino, &a, &e))
		return;
	set->what |= VFS_SET_MODE;
	set->mode = a.mode & 07777 & (mode_t)~S_ISUID;
	if (a.mode & S_IXGRP)
		set->mode &= (mode_t)~S_ISGID;
}

static void do_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr,
		       int what, struct fuse_file_info *fi)
{
	struct vfs_set set = set_of(attr, what);
	struct mnt *m = mnt_of(req);
	struct vfs_attr a;
	struct stat st;
	struct err e;

	(void)fi;
	if ((set.what & (unsigned)~VFS_SET_TIMES ? mnt_change
						 : mnt_follow)(m, req))
		return;
	kill_set_id(m, &set, ino_of(ino));
	mnt_access_changed(m, ino_of(ino), !(set.what & VFS_SET_ACCESSED));
	if (vfs_setattr(m->v, ino_of(ino), &set, &a, &e)) {
		mnt_fail(req, &e);
		return;
	}
	mnt_stat(m, &a, &st);
	fuse_reply_attr(req, &st, (double)mnt_timeout(m));
}

static void make_node(fuse_req_t req, fuse_ino_t dir, const char *name,
		      struct vfs_new *n)
{
	const struct fuse_ctx *who = fuse_req_ctx(req);
	struct mnt *m = mnt_of(req);
	struct vfs_attr a;
	struct err e;

	n->uid = who->uid;
	n->gid = who->gid;
	if (mnt_change(m, req))
		return;
	if (vfs_make(m->v, at_of(dir, name), n, &a, &e))
		mnt_fail(req, &e);
	else
		reply_entry(req, &a);
}

static void do_mknod(fuse_req_t req, fuse_ino_t dir, const char *name,
		     mode_t mode, dev_t rdev)
{
	make_node(req, dir, name,
		  &(struct vfs_new){.mode = mode, .rdev = rdev});
}

/* The kernel assumes that the name is free. If another process has created it
 * in the meantime, ESTALE makes the kernel look again and open the existing
 * file, with its own checks. */
static void do_create(fuse_req_t req, fuse_ino_t dir, const char *name,
		      mode_t mode, struct fuse_file_info *fi)
{
	const struct fuse_ctx *who = fuse_req_ctx(req);
	struct vfs_new n = {.mode = mode, .uid = who->uid, .gid = who->gid};
	struct mnt *m = mnt_of(req);
	struct fuse_entry_param p;
	struct vfs_attr a;
	struct err e;

	if (mnt_change(m, req))
		return;
	if (!vfs_make(m->v, at_of(dir, name), &n, &a, &e)) {
		mnt_entry(m, &a, &p);
		fi->keep_cache = !m->shared;
		fuse_reply_create(req, &p, fi);
	} else if (e.code == ERR_CONFLICT && !(fi->flags & O_EXCL)) {
		fuse_reply_err(req, ESTALE);
	} else {
		mnt_fail(req, &e);
	}
}

static void do_mkdir(fuse_req_t req, fuse_ino_t dir, const char *name,
		     mode_t mode)
{
	make_node(req, dir, name, &(struct vfs_new){.mode = S_IFDIR | mode});
}

static void do_symlink(fuse_req_t req, const char *target, fuse_ino_t dir,
		       const char *name)
{
	make_node(req, dir, name,
		  &(struct vfs_new){.mode = S_IFLNK | 0777, .target = target});
}

static void reply_done(fuse_req_t req, int rc, const struct err *e)
{
	if (rc)
		mnt_fail(req, e);
	else
		fuse_reply_err(req, 0);
}

static void do_unlink(fuse_req_t req, fuse_ino_t dir, const char *name)
{
	struct mnt *m = mnt_of(req);
	struct err e;

	if (!mnt_change(m, req))
		reply_done(req, vfs_unlink(m->v, at_of(dir, name), &e), &e);
}

static void do_rmdir(fuse_req_t req, fuse_ino_t dir, const char *name)
{
	struct mnt *m = mnt_of(req);
	struct err e;

	if (!mnt_change(m, req))
		reply_done(req, vfs_rmdir(m->v, at_of(dir, name), &e), &e);
}

static void do_rename(fuse_req_t req, fuse_ino_t dir, const char *name,
		      fuse_ino_t to_dir, const char *to_name, unsigned flags)
{
	struct mnt *m = mnt_of(req);
	struct err e;

	if (!mnt_change(m, req))
		reply_done(req,
			   vfs_rename(m->v, at_of(dir, name),
				      at_of(to_dir, to_name), flags, &e),
			   &e);
}

static void do_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t dir,
		    const char *name)
{
	struct mnt *m = mnt_of(req);
	struct vfs_attr a;
	struct err e;

	if (mnt_change(m, req))
		return;
	if (vfs_link(m->v, ino_of(ino), at_of(dir, name), &a, &e))
		mnt_fail(req, &e);
	else
		reply_entry(req, &a);
}

static void do_readlink(fuse_req_t req, fuse_ino_t ino)
{
	struct buf b = BUF_MAX(8192);
	struct mnt *m = mnt_of(req);
	struct err e;

	if (mnt_read(m, req))
		return;
	if (vfs_readlink(m->v, ino_of(ino), &b, &e))
		mnt_fail(req, &e);
	else
		fuse_reply_readlink(req, b.p);
	buf_fini(&b);
}

static void reply_bytes(fuse_req_t req, size_t room, const struct buf *b)
{
	if (room == 0)
		fuse_reply_xattr(req, b->n);
	else if (b->n > room)
		fuse_reply_err(req, ERANGE);
	else
		fuse_reply_buf(req, b->p, b->n);
}

static void do_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name,
			size_t room)
{
	struct buf b = BUF_MAX(1 << 20);
	struct mnt *m = mnt_of(req);
	struct err e;
	int rc = mnt_control_get(m, ino_of(ino), name, &b, &e);

	if (rc == 0 && mnt_read(m, req))
		return;
	if (rc == 0)
		rc = vfs_getxattr(m->v, ino_of(ino), name, &b, &e);
	if (rc < 0)
		mnt_fail(req, &e);
	else
		reply_bytes(req, room, &b);
	buf_fini(&b);
}

static void do_listxattr(fuse_req_t req, fuse_ino_t ino, size_t room)
{
	struct buf b = BUF_MAX(1 << 20);
	struct mnt *m = mnt_of(req);
	struct err e;

	if (mnt_read(m, req))
		return;
	if (vfs_listxattr(m->v, ino_of(ino), &b, &e))
		mnt_fail(req, &e);
	else
		reply_bytes(req, room, &b);
	buf_fini(&b);
}

/* An ACL changes the mode, which the kernel has cached. Only attributes are
 * dropped, no pages, so this cannot wait for a request. */
static void drop_attributes(struct mnt *m, fuse_ino_t ino)
{
	(void)fuse_lowlevel_notify_inval_inode(m->se, ino, -1, 0);
}

static void do_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name,
			const char *value, size_t n, int flags)
{
	struct mnt *m = mnt_of(req);
	struct blob blob = {value, n};
	struct err e;
	int rc = mnt_control_set(m, ino_of(ino), name, blob, &e);

	if (rc) {
		reply_done(req, rc < 0 ? -1 : 0, &e);
		return;
	}
	if (mnt_change(m, req))
		return;
	rc = vfs_setxattr(m->v, ino_of(ino), name, blob, flags, &e);
	if (rc == 0 && strcmp(name, ACL_ACCESS) == 0)
		drop_attributes(m, ino);
	reply_done(req, rc, &e);
}

static void do_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name)
{
	struct mnt *m = mnt_of(req);
	struct err e;

	if (!mnt_change(m, req))
		reply_done(req, vfs_rmxattr(m->v, ino_of(ino), name, &e), &e);
}

void fuse_tree_ops(struct fuse_lowlevel_ops *ops)
{
	ops->lookup = do_lookup;
	ops->forget = do_forget;
	ops->forget_multi = do_forget_multi;
	ops->getattr = do_getattr;
	ops->setattr = do_setattr;
	ops->mknod = do_mknod;
	ops->create = do_create;
	ops->mkdir = do_mkdir;
	ops->symlink = do_symlink;
	ops->unlink = do_unlink;
	ops->rmdir = do_rmdir;
	ops->rename = do_rename;
	ops->link = do_link;
	ops->readlink = do_readlink;
	ops->getxattr = do_getxattr;
	ops->listxattr = do_listxattr;
	ops->setxattr = do_setxattr;
	ops->removexattr = do_removexattr;
}
