#ifndef IPC_CLIENT_H
#define IPC_CLIENT_H

#include "ipc/message.h"
#include "lib/base/err.h"

#include <stdbool.h>

/*
 * A worker's end of the link: a thread of its own that dials the supervisor,
 * says hello, keeps one request waiting for commands and delivers reports one
 * after the other, each until it is acknowledged. When the supervisor goes away
 * it dials again, at random moments up to half a second apart, says hello again
 * and sends again what was not acknowledged. Nothing here ever waits for the
 * supervisor except ipc_client_flush.
 */
struct ipc_client;

/* Called from the link's thread: be quick, and lock what you share. */
struct ipc_calls {
	void *arg;
	/* A command; each id comes once, in order. m dies after the call. After
	 * `next` the link rests until ipc_client_again. */
	void (*command)(void *arg, const struct msg *m);
	/* The supervisor does not want this attempt; the link is over. */
	void (*refused)(void *arg, const char *why);
	/* No supervisor for lost_after_ms; once per loss. */
	void (*lost)(void *arg);
	/* Fills a sign of life, all but its `who`. */
	void (*heartbeat)(void *arg, struct msg_heartbeat *out);
};

struct ipc_client_config {
	const char *path;       /* of the supervisor's socket */
	struct msg_hello hello; /* its who begins every message */
	int64_t heartbeat_ms;
	int64_t lost_after_ms;
	int64_t quiet_ms; /* dials after this, or with the first report */
	struct ipc_calls calls;
};

/* Copies what it is given and starts the thread; does not wait for anybody. */
int ipc_client_open(struct ipc_client **out,
		    const struct ipc_client_config *config, struct err *e);

/* After the command `next`: goes on as somebody else, whose hello this is. What
 * was not acknowledged is dropped. */
void ipc_client_again(struct ipc_client *c, const struct msg_hello *hello);

/* Ends the thread; what was not acknowledged is dropped. NULL is fine. */
void ipc_client_close(struct ipc_client *c);

/*
 * Takes a report or a hint to be delivered; `who` is filled in. A hint takes
 * the place of an older one of its type that has not gone out yet, so hints
 * cost nothing while the supervisor is busy or away. ERR_BUSY when too many
 * reports wait. Any thread.
 */
int ipc_client_report(struct ipc_client *c, const struct msg *m, struct err *e);

/* Waits until everything reported so far is acknowledged; ERR_TIMEOUT. */
int ipc_client_flush(struct ipc_client *c, int64_t timeout_ms, struct err *e);

/* Has the supervisor accepted our hello on the present connection? */
bool ipc_client_connected(struct ipc_client *c);

#endif
