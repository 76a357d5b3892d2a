#ifndef SUPERVISOR_API_STREAM_STREAM_SUBSCRIBER_H
#define SUPERVISOR_API_STREAM_STREAM_SUBSCRIBER_H

#include "supervisor/api/stream/stream_shared.h"

/* The inside of a topic: topic.c says when to look, sub.c what its
 * followers are then told. */
struct subscriber {
	struct shared_stream *shared;
	struct subscriber *next, **link;
	struct http_stream *stream;
	struct tail *tail;    /* NULL: abreast */
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
	struct tail *tail;       /* of those abreast; NULL: there are none */
	struct buf cursor;       /* where they stand, as text */
	struct buf batch;        /* what they are about to be sent, … */
	int64_t in_batch;        /* … how many events, … */
	struct buf ahead;        /* … and where they stand then */
	struct buf status_frame; /* the status, as it is sent */
	struct buf status;       /* as it is told */
	uint64_t status_digest;
	struct buf data; /* of the item at hand */
	struct supervisor_watch *host_watch, *run_watch;
	char watched[ID_SIZE];
	int64_t watched_in; /* state and attempt */
	bool over;          /* nothing more will come */
	bool poll_pending;  /* a look is due after this turn */
	bool poll_again;    /* look again soon: some are behind */
};

void subscriber_link(struct subscriber *s, struct subscriber **list);
void subscriber_free(struct subscriber *s);
int subscriber_send(struct subscriber *s, const char *id, const char *event,
		    const struct buf *data);

/* Everything new to those who stand at the same place; then to those behind,
 * each from its own, for a while. `file` is NULL before there is one. */
int subscribers_serve(struct shared_stream *t, struct agent_file *file,
		      struct err *e);

#endif
