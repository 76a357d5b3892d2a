#ifndef IPC_SERVER_CONN_H
#define IPC_SERVER_CONN_H

#include "ipc/sp_frame.h"
#include "lib/base/buf.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * One accepted connection of server.c: its socket, the received bytes that are
 * not a complete frame yet, and the bytes that the peer has not read yet.
 * Private to the server. Nothing here blocks. A function that returns -1 leaves
 * the connection open; the caller closes it.
 */
struct ipc_conn {
	uint64_t id;
	int fd;
	bool greeted; /* the peer's greeting is complete */
	bool queued;  /* in the server's queue: may have complete frames */
	bool ended;   /* the peer will send nothing more */
	bool writing; /* waits until the socket is writable */
	int64_t partial_since; /* monotonic ns; 0: nothing incomplete */
	struct buf in, out;
	struct ipc_conn *next; /* in the queue */
};

/* Takes fd, which must be non-blocking. */
struct ipc_conn *ipc_conn_new(int fd);
void ipc_conn_free(struct ipc_conn *c); /* closes the socket */

/* Receives once. Afterwards frames may be buffered, and `ended` may be set. -1
 * if the connection is broken or the peer is not a worker. */
int ipc_conn_read(struct ipc_conn *c);

/* The next complete frame: 1, 0 if there is none, -1 if the bytes are not a
 * frame. It stays in the buffer until ipc_conn_took. */
int ipc_conn_frame(struct ipc_conn *c, struct sp_frame *out, struct err *e);
void ipc_conn_took(struct ipc_conn *c, const struct sp_frame *f);
bool ipc_conn_has_frame(const struct ipc_conn *c);

/* Sends what fits and keeps the rest. -1 if the connection is broken (nothing is
 * kept), or the peer has left too much unread. */
int ipc_conn_write(struct ipc_conn *c, const void *p, size_t n);

#endif
