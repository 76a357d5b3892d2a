#include "vfs/fuse/internal.h"

#include <linux/fuse.h>
#include <sys/uio.h>
#include <unistd.h>

/* The parts of the protocol that libfuse does not expose, and the options that
 * are negotiated with the kernel at the start. */

/* Two things that libfuse does not expose: whether a request clears set-id
 * bits, and that the kernel may leave that to us at all. Without the latter,
 * the kernel asks for an attribute before every single write. */
void mnt_peek(struct mnt *m, const void *request, size_t n)
{
	const struct fuse_in_header *h = request;
	const void *arg = h + 1;

	m->kill_set_id = false;
	if (n >= sizeof *h + sizeof(struct fuse_write_in) &&
	    h->opcode == FUSE_WRITE) {
		const struct fuse_write_in *in = arg;

		m->kill_set_id = in->write_flags & FUSE_WRITE_KILL_SUIDGID;
	} else if (n >= sizeof *h + sizeof(struct fuse_setattr_in) &&
		   h->opcode == FUSE_SETATTR) {
		const struct fuse_setattr_in *in = arg;

		m->kill_set_id = in->valid & FATTR_KILL_SUIDGID;
	} else if (n >= sizeof *h + sizeof(struct fuse_init_in) &&
		   h->opcode == FUSE_INIT) {
		const struct fuse_init_in *in = arg;

		m->init_unique = h->unique;
		m->init_flags = in->flags & FUSE_HANDLE_KILLPRIV_V2;
	}
}

static ssize_t send_reply(int fd, struct iovec *iov, int count, void *arg)
{
	struct mnt *m = arg;
	const struct fuse_out_header *h = iov[0].iov_base;

	if (m->init_unique && h->unique == m->init_unique && count > 1 &&
	    !h->error && iov[1].iov_len >= sizeof(struct fuse_init_out)) {
		struct fuse_init_out *out = iov[1].iov_base;

		out->flags |= m->init_flags;
		m->init_unique = 0;
	}
	return writev(fd, iov, count);
}

static ssize_t receive(int fd, void *p, size_t n, void *arg)
{
	(void)arg;
	return read(fd, p, n);
}

void mnt_init(void *arg, struct fuse_conn_info *conn)
{
	static const unsigned want = FUSE_CAP_WRITEBACK_CACHE |
				     FUSE_CAP_NO_OPEN_SUPPORT |
				     FUSE_CAP_READDIRPLUS |
				     FUSE_CAP_READDIRPLUS_AUTO |
				     FUSE_CAP_PARALLEL_DIROPS |
				     FUSE_CAP_CACHE_SYMLINKS |
				     FUSE_CAP_EXPLICIT_INVAL_DATA |
				     FUSE_CAP_ASYNC_READ;

	struct mnt *m = arg;
	struct vfs_usage u = {0};
	struct err ignored;

	conn->want |= conn->capable & want;
	/* With a quota, a write must fail at once and leave the size unchanged;
	 * the kernel would accept the bytes first and ask later. */
	if (vfs_usage(m->v, &u, &ignored) || u.max_bytes || m->shared)
		conn->want &= ~(unsigned)FUSE_CAP_WRITEBACK_CACHE;
	m->writeback = conn->want & FUSE_CAP_WRITEBACK_CACHE;
	conn->want &= ~(unsigned)(FUSE_CAP_AUTO_INVAL_DATA |
				  FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE |
				  FUSE_CAP_SPLICE_MOVE |
				  FUSE_CAP_ATOMIC_O_TRUNC);
	if (m->shared) {
		conn->want &= ~(unsigned)(FUSE_CAP_NO_OPEN_SUPPORT |
					  FUSE_CAP_CACHE_SYMLINKS |
					  FUSE_CAP_EXPLICIT_INVAL_DATA);
		conn->want |= conn->capable & FUSE_CAP_AUTO_INVAL_DATA;
	}
	conn->max_write = 1 << 20;
	conn->max_readahead = 4 << 20; /* see mountpoint.c */
	conn->max_background = 64;
	conn->time_gran = 1;
}

const struct fuse_custom_io mnt_io = {.writev = send_reply, .read = receive};
