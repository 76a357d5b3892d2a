#ifndef LIB_HTTP_SOCKET_H
#define LIB_HTTP_SOCKET_H

#include "lib/http/conn.h"

#include <uv.h>

/*
 * The socket of a connection, as a libuv stream. Received bytes are passed to
 * conn_input. `out` is written as far as the socket accepts it; the rest is
 * written when there is room again. Private to lib/http.
 */
struct conn_socket;

#define SOCKET_CHUNK (64 << 10)

/* Shared by the sockets of a server. */
struct socket_env {
	uv_loop_t *loop;
	/* The client has left, or its connection broke. */
	void (*lost)(struct conn *c, void *arg);
	void *arg;
	char chunk[SOCKET_CHUNK]; /* received bytes */
};

/* Takes fd. -1: it is closed, and the connection has no socket. */
int socket_open(struct conn *c, struct socket_env *env, int fd);

/* Closes now and discards unwritten bytes. */
void socket_close(struct conn *c);

/* -1: the connection broke or must be closed (`kill`). */
int socket_flush(struct conn *c);

/* Writes all parts, and queues what the socket does not accept. False: other
 * bytes are queued. */
bool socket_send(struct conn *c, const struct blob *parts, int n);

#endif
