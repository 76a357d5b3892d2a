#ifndef IPC_CLIENT_H
#define IPC_CLIENT_H

#include "ipc/message.h"
#include "lib/base/err.h"

#include <stdbool.h>

/*
 * The worker's end of the connection: a thread that connects to the supervisor,
 * sends hello, keeps one request waiting for commands, and delivers reports one
 * at a time, each until it is acknowledged. If the supervisor goes away, the
 * thread reconnects at random intervals of up to half a second, sends hello
 * again, and repeats what was not acknowledged. Only ipc_client_flush waits for
 * the supervisor.
 */
struct ipc_client;

/* Called on the client's thread: return quickly, and lock shared data. */
struct ipc_calls {
	void *arg;
	/* A command; each id comes once, in order. m is valid during the call.
	 * After `next` the client is idle until ipc_client_continue. */
	void (*command)(void *arg, const struct msg *m);
	/* The supervisor rejected this attempt; the client ends. */
	void (*refused)(void *arg, const char *why);
	/* No supervisor for lost_after_ms; called once per loss. */
	void (*lost)(void *arg);
	/* Fills a heartbeat, except for its `who`. */
	void (*heartbeat)(void *arg, struct msg_heartbeat *out);
	/* The result of a request; each comes once. m is valid during the
	 * call. NULL: the client sends no requests. */
	void (*result)(void *arg, const struct msg *m);
};

struct ipc_client_config {
	const char *path;       /* of the supervisor's socket */
	struct msg_hello hello; /* its `who` begins every message */
	int64_t heartbeat_ms;
	int64_t lost_after_ms;
	int64_t last_command; /* the newest command that the run has */
	int64_t quiet_ms; /* connects after this, or with the first report */
	struct ipc_calls calls;
};

/* Copies its arguments and starts the thread; does not wait. */
int ipc_client_open(struct ipc_client **out,
		    const struct ipc_client_config *config, struct err *e);

/* After the command `next`: continues as another attempt, with this hello.
 * Reports that were not acknowledged are dropped. */
void ipc_client_continue(struct ipc_client *c, const struct msg_hello *hello,
			 int64_t last_command);

/* Ends the thread; reports that were not acknowledged are dropped. Accepts
 * NULL. */
void ipc_client_close(struct ipc_client *c);

/*
 * Queues a report or a hint for delivery and fills in `who`. A hint replaces an
 * older one of its type that was not sent yet, so hints cost nothing while the
 * supervisor is busy or away. ERR_BUSY if too many reports are queued. Any
 * thread may call it.
 */
int ipc_client_report(struct ipc_client *c, const struct msg *m, struct err *e);

/* Sends a request and fills in `who`. It is sent again after each reconnection
 * until its result has come. Any number of them wait at the same time, up to a
 * limit (ERR_BUSY). Any thread may call it. */
int ipc_client_request(struct ipc_client *c, const struct msg *m,
		       struct err *e);

/* Sends a heartbeat in ms, not only when the next one is due. Any thread may call
 * it. */
void ipc_client_heartbeat_in(struct ipc_client *c, int64_t ms);

/* Waits until everything reported so far is acknowledged; ERR_TIMEOUT. */
int ipc_client_flush(struct ipc_client *c, int64_t timeout_ms, struct err *e);

/* Whether the supervisor has accepted our hello on the current connection. */
bool ipc_client_connected(struct ipc_client *c);

#endif
