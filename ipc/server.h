#ifndef IPC_SERVER_H
#define IPC_SERVER_H

#include "ipc/message.h"
#include "lib/base/arena.h"
#include "lib/base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The supervisor's end of the link: one listening socket for all workers, which
 * speaks nng's REP protocol (sp_frame.h). Nothing here blocks, and there are no
 * threads. Each message has an address; an answer may be sent to it at once,
 * hours later, or never, and in any order. A worker that went away loses its
 * answer and asks again when it is back.
 */
struct ipc_server;

/* Where an answer goes. Plain data: copy it, keep it, forget it. */
struct ipc_from {
	uint64_t pipe; /* the connection; never used again after it */
	uint32_t request;
};

/* The process at the other end, as the kernel knows it. */
struct ipc_peer {
	pid_t pid;
	uid_t uid;
};

/* Listens on path (mode 0600). A socket that a dead supervisor left behind is
 * replaced; one that somebody listens on is ERR_CONFLICT; a path that is too
 * long is ERR_CONFIG. */
int ipc_server_open(struct ipc_server **out, const char *path, struct err *e);
void ipc_server_close(struct ipc_server *s); /* NULL is fine */

/* Readable while there is something to receive: for the loop to poll. */
int ipc_server_fd(const struct ipc_server *s);

/*
 * The next message, its texts in a: 1, or 0 if there is none, or -1 for one
 * that no worker may send; *from then says whose, *e what is wrong with it, and
 * dropping the connection is the usual thing to do. Connections take turns, so
 * a worker that floods only delays itself; still, take a bounded number a turn.
 */
int ipc_server_receive(struct ipc_server *s, struct arena *a,
		       struct ipc_from *from, struct msg *m, struct err *e);

/* Sends a command or a reply. A worker that is gone is no failure. */
int ipc_server_answer(struct ipc_server *s, struct ipc_from to,
		      const struct msg *m, struct err *e);

/* Ends a connection. The worker, if it is one, will dial again. */
void ipc_server_drop(struct ipc_server *s, struct ipc_from whose);

/* -1 when the connection is gone. */
int ipc_server_peer(const struct ipc_server *s, struct ipc_from whose,
		    struct ipc_peer *out);

/*
 * Call it about once a second. Closes connections that left a greeting or a
 * frame incomplete for 30 s, and listens again when the socket's name was
 * removed or replaced. Returns 1 when it had to listen again, 0 if all is well,
 * -1 when that failed.
 */
int ipc_server_check(struct ipc_server *s, struct err *e);

#endif
