#ifndef IPC_CLIENT_IMPL_H
#define IPC_CLIENT_IMPL_H

#include "ipc/client.h"
#include "lib/base/arena.h"
#include "lib/base/buf.h"

#include <pthread.h>
#include <sys/un.h>

/* Inside of the link's worker end: client.c has what callers do,
 * client_thread.c what the thread does. */
#define NS_PER_MS 1000000

struct report {
	struct report *next;
	enum msg_type type;
	bool sent; /* on the present connection */
	size_t n;
	char json[];
};

/* The requests that may be under way: their numbers, 0 for none. */
struct requests {
	uint32_t hello;
	uint32_t ready;
	uint32_t report;
};

struct ipc_client {
	/* Set before the thread starts, then only read. */
	struct ipc_client_config config;
	struct arena texts;
	struct sockaddr_un address;
	int wake; /* eventfd: look at what the others have changed */
	pthread_t thread;

	pthread_mutex_t lock; /* of the five below */
	pthread_cond_t moved; /* one of them has changed */
	struct report *queue; /* one of them, marked sent, is under way */
	unsigned queued;
	bool closing;
	bool resting; /* between two identities: dials nobody */
	bool greeted; /* hello accepted on this connection */

	/* Only the thread's. */
	int fd;
	bool over;    /* refused */
	bool parting; /* hangs up, then rests */
	bool lost;    /* and said so */
	struct buf in, out;
	struct arena turn;
	struct requests asked;
	uint32_t number;    /* of the newest request */
	int64_t greeted_by; /* when hello should have been answered */
	int64_t last_command;
	int64_t lost_since;
	int64_t said; /* when anything was last acknowledged */
	int64_t delay_ms;
	int64_t hinted;     /* when the last hint went out */
	int64_t hint_in_ms; /* when the next may */
};

/* The thread: dials, serves, rests, until it is told to end. */
void *ipc_link_run(void *arg);

#endif
