#include "lib/http/socket.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/clock.h"

#define PARTS_MAX 4
#define TAIL      3072 /* with its uv_write_t less than a page */

struct conn_socket {
	union {
		uv_handle_t handle; /* data: this */
		uv_stream_t stream;
		uv_pipe_t pipe;
		uv_tcp_t tcp;
	};
	struct conn *c; /* NULL when closed */
	struct socket_env *env;
	bool has_tail;
};

/* The next bytes of `out` for a socket that is full. There is room again once
 * libuv has written them. */
struct tail {
	uv_write_t write;
	size_t n;
	char bytes[TAIL];
};

static void free_socket(uv_handle_t *h)
{
	free(h->data);
}

void socket_close(struct conn *c)
{
	struct conn_socket *k = c->socket;

	k->c = NULL;
	c->socket = NULL;
	uv_close(&k->handle, free_socket);
}

static void use_chunk(uv_handle_t *h, size_t hint, uv_buf_t *buf)
{
	struct conn_socket *k = h->data;

	(void)hint;
	*buf = uv_buf_init(k->env->chunk, SOCKET_CHUNK);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
	struct conn_socket *k = stream->data;

	if (n > 0)
		conn_input(k->c, buf->base, (size_t)n);
	else if (n < 0) /* a client that shuts down its side is gone, too */
		k->env->lost(k->c, k->env->arg);
}

int socket_open(struct conn *c, struct socket_env *env, int fd)
{
	struct conn_socket *k = calloc(1, sizeof *k);
	int rc;

	if (!k)
		abort();
	k->handle.data = k;
	k->c = c;
	k->env = env;
	c->socket = k;
	if (c->is_unix) {
		uv_pipe_init(env->loop, &k->pipe, 0);
		rc = uv_pipe_open(&k->pipe, fd);
	} else {
		uv_tcp_init(env->loop, &k->tcp);
		rc = uv_tcp_open(&k->tcp, fd);
	}
	if (rc)
		close(fd);
	if (rc || uv_read_start(&k->stream, use_chunk, on_read)) {
		socket_close(c);
		return -1;
	}
	return 0;
}

static void on_tail_written(uv_write_t *req, int status)
{
	struct conn_socket *k = req->handle->data;
	struct tail *t = (struct tail *)req;
	size_t n = t->n;

	free(t);
	k->has_tail = false;
	if (!k->c)
		return;
	if (status == 0)
		conn_sent(k->c, n);
	if (status || socket_flush(k->c))
		k->env->lost(k->c, k->env->arg);
}

/* The bytes stay in `out`, and count as unread, until they are written. */
static int write_tail(struct conn_socket *k, const char *p, size_t n)
{
	struct tail *t = malloc(sizeof *t);
	uv_buf_t buf;

	if (!t)
		abort();
	t->n = n < TAIL ? n : TAIL;
	memcpy(t->bytes, p, t->n);
	buf = uv_buf_init(t->bytes, (unsigned)t->n);
	if (uv_write(&t->write, &k->stream, &buf, 1, on_tail_written)) {
		free(t);
		return -1;
	}
	k->has_tail = true;
	return 0;
}

/* Lets the client read everything before the socket is closed. */
static void shut_down(struct conn *c)
{
	uv_os_fd_t fd;

	if (uv_fileno(&c->socket->handle, &fd) == 0)
		shutdown(fd, SHUT_WR);
	c->shut = true;
	c->since = clock_mono_ns();
}

/* libuv's buffers are not const, and uv_try_write only reads. */
static uv_buf_t bytes_of(const void *p, size_t n)
{
	return uv_buf_init((char *)(uintptr_t)p, (unsigned)n);
}

/* Writes what the socket accepts, and lets libuv write the next bytes if it is
 * full. */
static int write_out(struct conn *c)
{
	const char *p;
	size_t n = conn_pending(c, &p);
	uv_buf_t buf = bytes_of(p, n);
	int sent;

	if (n == 0)
		return 0;
	sent = uv_try_write(&c->socket->stream, &buf, 1);
	if (sent < 0 && sent != UV_EAGAIN)
		return -1;
	if (sent > 0)
		conn_sent(c, (size_t)sent);
	n = conn_pending(c, &p);
	return n > 0 ? write_tail(c->socket, p, n) : 0;
}

int socket_flush(struct conn *c)
{
	if (c->kill)
		return -1;
	if (c->socket->has_tail)
		return 0;
	if (write_out(c))
		return -1;
	if (c->out.n > 0)
		return 0;
	conn_resume(c);
	if (conn_is_done(c) && !c->shut)
		shut_down(c);
	return 0;
}

/* Queues all but the first `sent` bytes. */
static void queue_rest(struct conn *c, const struct blob *parts, int n,
		       size_t sent)
{
	for (int i = 0; i < n; i++) {
		size_t skip = sent < parts[i].n ? sent : parts[i].n;

		sent -= skip;
		buf_add(&c->out, (const char *)parts[i].p + skip,
			parts[i].n - skip);
	}
}

bool socket_send(struct conn *c, const struct blob *parts, int n)
{
	uv_buf_t bufs[PARTS_MAX];
	int sent;

	assert(n <= PARTS_MAX);
	if (c->shut || c->out.n > 0)
		return false;
	for (int i = 0; i < n; i++)
		bufs[i] = bytes_of(parts[i].p, parts[i].n);
	sent = uv_try_write(&c->socket->stream, bufs, (unsigned)n);
	if (sent == UV_EAGAIN)
		return false;
	if (sent < 0)
		c->kill = true;
	else
		queue_rest(c, parts, n, (size_t)sent);
	if (c->kill || c->out.n > 0)
		conn_wake(c);
	return true;
}
