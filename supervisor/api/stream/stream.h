#ifndef SUPERVISOR_API_STREAM_STREAM_H
#define SUPERVISOR_API_STREAM_STREAM_H

#include "schema/agent/transcript/tail.h"
#include "supervisor/api/request.h"

/*
 * Streams of which each client has its own: the host's log, chats. (Runs and
 * sessions are topics: topic.h.) A follower reads rows, so what it sends is
 * committed, and a message that got lost delays it and loses nothing. It looks
 * after commits and hints about its subject, when the client has room again,
 * and now and then all the same. What a look sends is decided by its ops.
 */
struct follower;

struct follower_ops {
	/* Sends what is new while there is room. 1: the stream is complete. */
	int (*poll)(struct follower *f, struct err *e);
	void (*free)(struct follower *f); /* of `own`; or NULL */
};

struct follower {
	struct api *api;
	struct http_stream *stream;
	const struct follower_ops *ops;
	struct follower *next, *before; /* ring */
	struct supervisor_watch *watch;
	struct supervisor_watch *run_watch; /* of the run at hand */
	int64_t watched; /* in what state and attempt of it */
	char *agent;
	char run[ID_SIZE]; /* whose stream it is, or "" */
	struct tail *tail;
	int64_t seq;       /* of the host's log */
	void *own;         /* ops' */
	bool poll_pending; /* a look is due after this turn */
	bool closed;       /* the client is */
};

/* A follower of q's reply, which it takes; nothing is sent yet. It watches the
 * host's log, and the run once there is one (follower_run). */
struct follower *follower_new(struct api_request *q,
			      const struct follower_ops *ops, const char *run);

/* The run's row: 1, 0, -1. */
int follower_run(struct follower *f, struct run_row *row, struct arena *a,
		 struct err *e);

/* Sends an event whose data is made already. id may be NULL. */
int follower_send(struct follower *f, const char *id, const char *event,
		  const struct buf *data);
bool follower_has_room(struct follower *f);

void followers_poll(struct api *w); /* by the timer: some of them look */

#endif
