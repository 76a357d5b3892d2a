#include "ipc/start.h"

#include "base/file.h"

#include <sys/mman.h>
#include <unistd.h>

int start_to_fd(const struct msg_start *s, struct err *e)
{
	struct msg m = {.type = MSG_TYPE_START, .u.start = *s};
	struct buf b = BUF_MAX(MSG_MAX_BYTES);
	int fd = -1;

	if (msg_encode(&m, &b, e))
		goto out;
	fd = memfd_create("skep-start", MFD_CLOEXEC);
	if (fd < 0) {
		err_errno_set(e, "memfd for the start of a worker");
		goto out;
	}
	if (file_write_fd(fd, "start of a worker", b.p, b.n, e) ||
	    lseek(fd, 0, SEEK_SET) < 0) {
		close(fd);
		fd = -1;
	}
out:
	buf_fini(&b);
	return fd;
}

int start_from_fd(int fd, struct arena *a, struct msg_start *s, struct err *e)
{
	struct buf b = BUF_MAX(MSG_MAX_BYTES);
	struct msg m;
	int rc = file_read_fd(fd, "start", &b, e);

	if (rc == 0)
		rc = msg_decode(b.p, b.n, SIDE_SUPERVISOR, a, &m, e);
	if (rc == 0 && m.type != MSG_TYPE_START)
		rc = err_set(e, ERR_PROTOCOL, "expected start, got %s",
			     msg_name(m.type));
	if (rc == 0)
		*s = m.u.start;
	buf_fini(&b);
	return rc;
}
