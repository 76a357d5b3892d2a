#ifndef SUPERVISOR_API_STREAM_STREAM_SUBSCRIBER_H
#define SUPERVISOR_API_STREAM_STREAM_SUBSCRIBER_H

#include "supervisor/api/stream/stream_shared.h"

/* The internals of shared streams: stream_shared.c decides when to poll,
 * stream_subscriber.c sends to the subscribers. */
struct subscriber {
	struct shared_stream *shared;
	struct subscriber *next, **link;
	struct http_stream *stream;
	struct tail *tail;    /* NULL: caught up */
	uint64_t status_sent; /* digest of the last status */
	bool until_idle;
};

struct shared_stream {
	struct api *api;
	struct shared_stream *next, *before; /* ring */
	char *agent;
	char *session;
	char *run; /* NULL: the whole session */
	struct subscriber *caught_up;
	struct subscriber *lagging;
	struct tail *tail;       /* of those caught up; NULL: there are none */
	struct buf cursor;       /* their position, as text */
	struct buf batch;        /* encoded events to be sent, … */
	int64_t in_batch;        /* … their number, … */
	struct buf ahead;        /* … and the position after them */
	struct buf status_frame; /* the status as a frame */
	struct buf status;       /* the status as JSON */
	uint64_t status_digest;
	struct buf data; /* JSON of the current item */
	struct supervisor_watch *host_watch, *run_watch;
	char watched[ID_SIZE];
	int64_t watched_in; /* state and attempt */
	bool over;          /* no more events can come */
	bool poll_pending;  /* a poll is scheduled after this turn */
	bool poll_again;    /* poll again soon: some lag */
};

void subscriber_link(struct subscriber *s, struct subscriber **list);
void subscriber_free(struct subscriber *s);
int subscriber_send(struct subscriber *s, const char *id, const char *event,
		    const struct buf *data);

/* Sends new items to subscribers that are caught up, then serves those that
 * lag, for a limited time. file NULL: the agent has no file yet. */
int subscribers_serve(struct shared_stream *t, struct agent_file *file,
		      struct err *e);

#endif
