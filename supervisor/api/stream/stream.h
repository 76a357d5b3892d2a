#ifndef SUPERVISOR_API_STREAM_STREAM_H
#define SUPERVISOR_API_STREAM_STREAM_H

#include "schema/agent/transcript/tail.h"
#include "supervisor/api/request.h"

/*
 * Event streams with one client: the host's log and chats. (stream_shared.h
 * serves runs and sessions.) A follower reads rows, so it sends only committed
 * data, and a lost hint only delays it. It is polled after commits and hints
 * about its subject, when the client can receive more, and by a timer. Its ops
 * decide what it sends.
 */
struct follower;

struct follower_ops {
	/* Sends new data while the client can receive it. Returns 1 if the
	 * stream is complete, 0, or -1. */
	int (*poll)(struct follower *f, struct err *e);
	void (*free)(struct follower *f); /* frees `own`; or NULL */
};

struct follower {
	struct api *api;
	struct http_stream *stream;
	const struct follower_ops *ops;
	struct follower *next, *before; /* ring */
	struct supervisor_watch *watch;
	struct supervisor_watch *run_watch; /* of the current run */
	int64_t watched; /* its state and attempt at that time */
	char *agent;
	char run[ID_SIZE]; /* the run of the stream, or "" */
	struct tail *tail;
	int64_t seq;       /* position in the host's log */
	void *own;         /* private to the ops */
	bool poll_pending; /* a poll is scheduled after this turn */
	bool closed;       /* the client disconnected */
};

/* Creates a follower that takes the reply of q; nothing is sent yet. It watches
 * the host's log, and the run once it exists (follower_run). */
struct follower *follower_new(struct api_request *q,
			      const struct follower_ops *ops, const char *run);

/* Reads the row of the run: 1, 0 if there is none, or -1. */
int follower_run(struct follower *f, struct run_row *row, struct arena *a,
		 struct err *e);

/* Sends an event with encoded data. id may be NULL. */
int follower_send(struct follower *f, const char *id, const char *event,
		  const struct buf *data);
bool follower_has_room(struct follower *f);

/* called by the timer; polls some of them */
void followers_poll(struct api *w);

#endif
