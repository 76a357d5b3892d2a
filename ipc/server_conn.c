#include "ipc/server_conn.h"

#include "ipc/message.h"
#include "lib/base/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define RECEIVE_MAX (256u << 10) /* largest message of a worker */
#define READ_BYTES  (16u << 10)
#define UNREAD_MAX  (2u * MSG_MAX_BYTES) /* more unread bytes end a connection */

struct ipc_conn *ipc_conn_new(int fd)
{
	struct ipc_conn *c = calloc(1, sizeof *c);

	if (!c)
		abort();
	c->fd = fd;
	c->partial_since = clock_mono_ns(); /* the greeting is due */
	buf_init(&c->in, RECEIVE_MAX + SP_OVERHEAD + READ_BYTES);
	buf_init(&c->out, UNREAD_MAX);
	return c;
}

void ipc_conn_free(struct ipc_conn *c)
{
	close(c->fd);
	buf_fini(&c->in);
	buf_fini(&c->out);
	free(c);
}

/* An idle connection holds no buffer: there may be thousands. */
static void release_if_empty(struct buf *b)
{
	if (b->n == 0)
		buf_fini(b);
}

static int check_greeting(struct ipc_conn *c)
{
	size_t n = c->in.n < SP_GREETING ? c->in.n : SP_GREETING;

	if (c->greeted)
		return 0;
	if (memcmp(c->in.p, sp_req, n) != 0)
		return -1;
	if (n == SP_GREETING) {
		c->greeted = true;
		buf_drop(&c->in, SP_GREETING);
	}
	return 0;
}

static void note_partial(struct ipc_conn *c)
{
	bool partial = !c->greeted || c->in.n > 0;

	if (!partial || ipc_conn_has_frame(c))
		c->partial_since = 0;
	else if (c->partial_since == 0)
		c->partial_since = clock_mono_ns();
}

int ipc_conn_read(struct ipc_conn *c)
{
	char *room = buf_room(&c->in, READ_BYTES);
	ssize_t n;

	if (!room)
		return -1;
	n = recv(c->fd, room, READ_BYTES, MSG_DONTWAIT);
	if (n < 0) {
		int cause = errno; /* EAGAIN: a spurious event */

		release_if_empty(&c->in);
		return cause == EAGAIN || cause == EINTR ? 0 : -1;
	}
	if (n == 0)
		c->ended = true;
	buf_grew(&c->in, (size_t)n);
	if (check_greeting(c))
		return -1;
	note_partial(c);
	release_if_empty(&c->in);
	return 0;
}

int ipc_conn_frame(struct ipc_conn *c, struct sp_frame *out, struct err *e)
{
	return c->greeted ? sp_get(c->in.p, c->in.n, RECEIVE_MAX, out, e) : 0;
}

void ipc_conn_took(struct ipc_conn *c, const struct sp_frame *f)
{
	buf_drop(&c->in, f->size);
	note_partial(c);
	release_if_empty(&c->in);
}

bool ipc_conn_has_frame(const struct ipc_conn *c)
{
	struct sp_frame f;
	struct err e;

	/* Bytes that are not a frame count, too: they are reported in their
	 * turn. */
	return c->greeted && sp_get(c->in.p, c->in.n, RECEIVE_MAX, &f, &e) != 0;
}

static ssize_t send_now(int fd, const void *p, size_t n)
{
	ssize_t sent = send(fd, p, n, MSG_NOSIGNAL | MSG_DONTWAIT);

	if (sent < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	return sent;
}

int ipc_conn_write(struct ipc_conn *c, const void *p, size_t n)
{
	ssize_t sent;

	if (buf_add(&c->out, p, n))
		return -1;
	sent = send_now(c->fd, c->out.p, c->out.n);
	if (sent < 0) {
		buf_clear(&c->out); /* the peer is gone */
		return -1;
	}
	buf_drop(&c->out, (size_t)sent);
	release_if_empty(&c->out);
	return 0;
}
