#ifndef IPC_SERVER_H
#define IPC_SERVER_H

#include "ipc/message.h"
#include "lib/base/arena.h"
#include "lib/base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The supervisor's end of the connection: one listening socket for all workers,
 * which speaks nng's REP protocol (sp_frame.h). Nothing here blocks, and there
 * are no threads. Each message has an address; a response may be sent to it at
 * once, hours later, or never, and in any order. A worker that disconnected
 * loses its response and asks again after it has reconnected.
 */
struct ipc_server;

/* The address of a response. Plain data: it may be copied, stored and
 * discarded. */
struct ipc_from {
	uint64_t pipe; /* the connection; never reused */
	uint32_t request;
};

/* The process at the other end, according to the kernel. */
struct ipc_peer {
	pid_t pid;
	uid_t uid;
};

/* Listens on path (mode 0600). The socket of a dead supervisor is replaced; one
 * with a listener is ERR_CONFLICT; a path that is too long is ERR_CONFIG. */
int ipc_server_open(struct ipc_server **out, const char *path, struct err *e);
void ipc_server_close(struct ipc_server *s); /* accepts NULL */

/* Readable while there is something to receive: for the loop to poll. */
int ipc_server_fd(const struct ipc_server *s);

/*
 * The next message, with its texts in a: 1, or 0 if there is none, or -1 for a
 * message that no worker may send. Then *from is its sender and *e the reason,
 * and the caller usually drops the connection. Connections take turns, so a
 * worker that floods only delays itself; still, take a bounded number per turn.
 */
int ipc_server_receive(struct ipc_server *s, struct arena *a,
		       struct ipc_from *from, struct msg *m, struct err *e);

/* Sends a command, a reply or a result. A worker that is gone is not an error. */
int ipc_server_answer(struct ipc_server *s, struct ipc_from to,
		      const struct msg *m, struct err *e);

/* Closes a connection. A worker will reconnect. */
void ipc_server_drop(struct ipc_server *s, struct ipc_from whose);

/* -1 if the connection is gone. */
int ipc_server_peer(const struct ipc_server *s, struct ipc_from whose,
		    struct ipc_peer *out);

/*
 * Call it about once a second. Closes connections whose greeting or frame was
 * incomplete for 30 s, and listens again if the socket file was deleted or
 * replaced. Returns 1 if it listens again, 0 if nothing was wrong, -1 if that
 * failed.
 */
int ipc_server_check(struct ipc_server *s, struct err *e);

#endif
