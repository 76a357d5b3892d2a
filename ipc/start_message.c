#include "ipc/start_message.h"

#include "lib/os/file.h"

#include <sys/mman.h>
#include <unistd.h>

int start_encode(const struct msg_start *s, struct buf *out, struct err *e)
{
	struct msg m = {.type = MSG_TYPE_START, .u.start = *s};

	return msg_encode(&m, out, e);
}

int start_text_to_fd(const struct buf *text, struct err *e)
{
	int fd = memfd_create("skep-start", MFD_CLOEXEC);

	if (fd < 0)
		return err_errno_set(e, "memfd for the start of a worker");
	if (file_write_fd(fd, "start of a worker", text->p, text->n, e) ||
	    lseek(fd, 0, SEEK_SET) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

int start_to_fd(const struct msg_start *s, struct err *e)
{
	struct buf b = BUF_MAX(MSG_MAX_BYTES);
	int fd = start_encode(s, &b, e) ? -1 : start_text_to_fd(&b, e);

	buf_fini(&b);
	return fd;
}

int start_from_fd(int fd, struct arena *a, struct msg_start *s, struct err *e)
{
	struct buf b = BUF_MAX(MSG_MAX_BYTES);
	struct msg m;
	int rc = file_read_fd(fd, "start", &b, e);

	if (rc == 0 && b.n == 0)
		rc = err_set(e, ERR_CANCELED, "no start message arrived");
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
