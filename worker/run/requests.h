#ifndef WORKER_RUN_REQUESTS_H
#define WORKER_RUN_REQUESTS_H

#include "ipc/message.h"
#include "ipc/run_socket.h"
#include "lib/base/buf.h"
#include "lib/base/err.h"

#include <stdbool.h>

/*
 * Requests of a run to the supervisor, about its child runs and its messages.
 * The main thread sends them and gets their results while it waits in run_poll.
 */
struct run;

/* m is valid during the call. */
typedef void request_done(struct run *r, void *arg, const struct msg_result *m);

struct pending_request {
	struct pending_request *next;
	int64_t id;
	request_done *fn; /* NULL: the result is not awaited */
	void *arg;
};

struct pending_requests {
	struct pending_request *first;
	int64_t last; /* id */
};

/* Sends a request; fn is called with its result. */
int request_begin(struct run *r, const struct run_socket_request *q,
		  request_done *fn, void *arg, struct err *e);
void request_forget(struct run *r, const void *arg); /* does not call fn */
void request_result(struct run *r, const struct msg_result *m);
void requests_drop(struct run *r); /* at the end of the run */

/* Sends a request and waits for its result, an object in *out. */
int request_wait(struct run *r, const struct run_socket_request *q,
		 struct buf *out, struct err *e);

#endif
