#ifndef IPC_CLIENT_INTERNAL_H
#define IPC_CLIENT_INTERNAL_H

#include "ipc/client.h"
#include "lib/base/arena.h"
#include "lib/base/buf.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/un.h>

/* Internals of the worker's end: client.c has the callers' functions,
 * client_thread.c the thread's. */
#define NS_PER_MS 1000000

struct report {
	struct report *next;
	enum msg_type type;
	bool sent; /* on the current connection */
	size_t n;
	char json[];
};

/* The numbers of the requests in flight, 0 for none. */
struct requests {
	uint32_t hello;
	uint32_t ready;
	uint32_t report;
};

struct ipc_client {
	/* Set before the thread starts, then read-only. */
	struct ipc_client_config config;
	struct arena texts;
	struct sockaddr_un address;
	int wake; /* eventfd: other threads have changed something */
	pthread_t thread;

	pthread_mutex_t lock; /* protects the five below */
	pthread_cond_t moved; /* one of them has changed */
	struct report *queue; /* one of them, marked sent, may be in flight */
	unsigned queued;
	bool closing;
	bool resting; /* between two identities: does not connect */
	bool greeted; /* hello accepted on this connection */

	_Atomic int64_t beat_at; /* a heartbeat was asked for; 0: none */

	/* Used by the thread only. */
	int fd;
	bool over;    /* rejected */
	bool parting; /* disconnects, then is idle */
	bool lost;    /* and reported */
	struct buf in, out;
	struct arena turn;
	struct requests asked;
	uint32_t number;    /* of the newest request */
	int64_t greeted_by; /* deadline for the response to hello */
	int64_t last_command;
	int64_t lost_since;
	int64_t last_sent;  /* time of the last acknowledgement */
	int failures;       /* to connect, in a row */
	int64_t hinted;     /* time of the last hint */
	int64_t hint_in_ms; /* delay before the next one */
};

/* The thread: connects, serves and idles until it is ended. */
void *ipc_link_run(void *arg);

#endif
