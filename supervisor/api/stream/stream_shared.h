#ifndef SUPERVISOR_API_STREAM_STREAM_SHARED_H
#define SUPERVISOR_API_STREAM_STREAM_SHARED_H

#include "schema/agent/transcript/tail.h"
#include "supervisor/api/request.h"

/*
 * Followers of runs and sessions. All who follow the same thing share a topic:
 * rows are read and written out once, and sent to everybody who stands at the
 * same place. A follower that comes anew, or that cannot keep up, reads for
 * itself, at its own pace, until it stands where the others stand.
 *
 *   new ──▶ behind ── has caught up ──▶ abreast ── no room ──▶ behind
 *
 * A topic looks after commits and hints about its run, and now and then all the
 * same: rows are truth, and a hint that got lost costs time only.
 */
struct shared_stream;

struct shared_stream_request {
	const char *agent;
	const char *session;
	const char *run;   /* NULL: the whole session */
	const char *after; /* cursor or NULL */
	bool until_idle;   /* end when the session has nothing to do */
};

/* Turns the reply into such a stream. -1: nothing was begun (ERR_USAGE). */
int shared_stream_subscribe(struct api *w,
			    const struct shared_stream_request *want,
			    struct http_reply *reply, struct err *e);

void shared_streams_poll(struct api *w); /* by the timer: some of them look */
/* At the end, when all streams have been closed. */
void shared_streams_close(struct api *w);

/* JSON of what is told: schema/agent/watch.c. The caller ends
 * the object of an event, and may add its parts before. */
void stream_event_json(struct buf *b, const struct event *ev);
void stream_part_json(struct buf *b, const struct tail_item *item);

#endif
