#include "vfs/fuse/internal.h"

#include <errno.h>
#include <linux/fuse.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

/*
 * Requests that libfuse 3.14 does not know: O_TMPFILE, and statx for the birth
 * time. libfuse handles the rest of the protocol.
 */
#define OP_TMPFILE 51
#define OP_STATX   52

/* As in linux/fuse.h from protocol 7.39 on. */
struct statx_time {
	int64_t sec;
	uint32_t nsec;
	int32_t reserved;
};

struct statx_in {
	uint32_t getattr_flags, reserved;
	uint64_t fh;
	uint32_t sx_flags, sx_mask;
};

struct statx_out {
	uint64_t attr_valid;
	uint32_t attr_valid_nsec, flags;
	uint64_t spare[2];
	struct {
		uint32_t mask, blksize;
		uint64_t attributes;
		uint32_t nlink, uid, gid;
		uint16_t mode, spare0[1];
		uint64_t ino, size, blocks, attributes_mask;
		struct statx_time atime, btime, ctime, mtime;
		uint32_t rdev_major, rdev_minor, dev_major, dev_minor;
		uint64_t spare2[14];
	} stat;
};

void mnt_reply(struct mnt *m, uint64_t unique, int error, const void *p,
	       size_t n)
{
	struct fuse_out_header out = {.len = (uint32_t)(sizeof out + n),
				      .error = -error,
				      .unique = unique};
	struct iovec iov[] = {{&out, sizeof out}, {(void *)(uintptr_t)p, n}};

	(void)!writev(fuse_session_fd(m->se), iov, n ? 2 : 1);
}

static struct statx_time time_of(int64_t ns)
{
	struct statx_time t = {.sec = ns / 1000000000,
			       .nsec = (uint32_t)(ns % 1000000000)};

	if (ns < 0 && ns % 1000000000) {
		t.sec--;
		t.nsec = (uint32_t)(ns - t.sec * 1000000000);
	}
	return t;
}

static void do_statx(struct mnt *m, const struct fuse_in_header *in)
{
	struct statx_out out = {.attr_valid = mnt_timeout(m)};
	struct vfs_attr a;
	struct stat st;
	struct err e;

	if (mnt_read_raw(m, &e) ||
	    vfs_getattr(m->v, (int64_t)in->nodeid, &a, &e)) {
		mnt_reply(m, in->unique, err_errno(e.code), NULL, 0);
		return;
	}
	mnt_stat(m, &a, &st);
	out.stat.mask = STATX_BASIC_STATS | STATX_BTIME;
	out.stat.blksize = (uint32_t)st.st_blksize;
	out.stat.nlink = a.nlink;
	out.stat.uid = a.uid;
	out.stat.gid = a.gid;
	out.stat.mode = (uint16_t)a.mode;
	out.stat.ino = (uint64_t)a.ino;
	out.stat.size = (uint64_t)a.size;
	out.stat.blocks = (uint64_t)st.st_blocks;
	out.stat.atime = time_of(mnt_access_time(m, &a));
	out.stat.btime = time_of(a.created);
	out.stat.ctime = time_of(a.changed);
	out.stat.mtime = time_of(a.modified);
	out.stat.rdev_major = major(a.rdev);
	out.stat.rdev_minor = minor(a.rdev);
	mnt_reply(m, in->unique, 0, &out, sizeof out);
}

/* As the kernel packs a device number. */
static uint32_t wire_dev(uint64_t rdev)
{
	unsigned low = minor(rdev);

	return (uint32_t)((low & 0xff) | (major(rdev) << 8) |
			  ((low & ~0xffu) << 12));
}

static void fill_attr(struct mnt *m, const struct vfs_attr *a, uint64_t blocks,
		      struct fuse_attr *out)
{
	struct statx_time accessed = time_of(mnt_access_time(m, a)),
			  modified = time_of(a->modified),
			  changed = time_of(a->changed);

	*out = (struct fuse_attr){
		.ino = (uint64_t)a->ino,
		.size = (uint64_t)a->size,
		.blocks = blocks,
		.atime = (uint64_t)accessed.sec,
		.mtime = (uint64_t)modified.sec,
		.ctime = (uint64_t)changed.sec,
		.atimensec = accessed.nsec,
		.mtimensec = modified.nsec,
		.ctimensec = changed.nsec,
		.mode = a->mode,
		.nlink = a->nlink,
		.uid = a->uid,
		.gid = a->gid,
		.rdev = wire_dev(a->rdev),
		.blksize = MNT_BLKSIZE,
	};
}

void mnt_entry_out(struct mnt *m, const struct vfs_attr *a, uint64_t blocks,
		   struct fuse_entry_out *out)
{
	*out = (struct fuse_entry_out){
		.nodeid = (uint64_t)a->ino,
		.entry_valid = mnt_timeout(m),
		.attr_valid = mnt_timeout(m),
	};
	fill_attr(m, a, blocks, &out->attr);
}

/* The file is held, as after a lookup, and deleted when it is released unless
 * it got a name. */
static void do_tmpfile(struct mnt *m, const struct fuse_in_header *in,
		       const struct fuse_create_in *arg)
{
	struct vfs_new n = {.mode = S_IFREG | (arg->mode & 07777),
			    .uid = in->uid,
			    .gid = in->gid};
	struct {
		struct fuse_entry_out entry;
		struct fuse_open_out open;
	} out = {.open = {.open_flags = FOPEN_KEEP_CACHE}};
	struct vfs_attr a;
	struct err e;

	if (mnt_begin(m, &e) || vfs_make_nameless(m->v, &n, &a, &e)) {
		mnt_reply(m, in->unique, err_errno(e.code), NULL, 0);
		return;
	}
	m->changes++;
	mnt_entry_out(m, &a, 0, &out.entry);
	mnt_reply(m, in->unique, 0, &out, sizeof out);
}

bool mnt_serve_raw(struct mnt *m, const void *request, size_t n)
{
	const struct fuse_in_header *in = request;

	if (n < sizeof *in)
		return false;
	if (in->opcode == OP_STATX && n >= sizeof *in + sizeof(struct statx_in))
		do_statx(m, in);
	else if (in->opcode == OP_TMPFILE &&
		 n >= sizeof *in + sizeof(struct fuse_create_in))
		do_tmpfile(m, in, (const struct fuse_create_in *)(in + 1));
	else
		return false;
	return true;
}
