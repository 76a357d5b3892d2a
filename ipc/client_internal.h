#ifndef IPC_CLIENT_INTERNAL_H
#define IPC_CLIENT_INTERNAL_H

#include "ipc/client.h"
#include "lib/base/arena.h"
#include "lib/base/buf.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/un.h>

/* Internals of the worker's end: client.c has the callers' functions,
 * client_thread.c the thread's, and client_request.c the requests. */
#define NS_PER_MS 1000000

struct report {
	struct report *next;
	enum msg_type type;
	bool sent; /* on the current connection */
	size_t n;
	char json[];
};

/* A message `request` whose result has not come. */
struct open_request {
	struct open_request *next;
	uint32_t number; /* on the current connection; 0: not sent */
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

	pthread_mutex_t lock; /* protects the six below */
	pthread_cond_t moved; /* one of them has changed */
	struct report *queue; /* one of them, marked sent, may be in flight */
	unsigned queued;
	struct open_request *open; /* oldest first */
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
	struct requests pending;
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
/* Frames a message and returns its number. */
uint32_t ipc_link_send(struct ipc_client *c, const char *json, size_t n);

void client_wake(struct ipc_client *c); /* the thread */

/* Requests. For the thread: sends those that were not sent; is there one with
 * this number; removes it. */
void open_requests_send(struct ipc_client *c);
bool open_request_is(struct ipc_client *c, uint32_t number);
void open_request_end(struct ipc_client *c, uint32_t number);
/* With the lock held: they were not sent on the next connection; drops them. */
void open_requests_reset(struct ipc_client *c);
void open_requests_drop(struct ipc_client *c);

#endif
