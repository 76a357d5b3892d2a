#ifndef SUPERVISOR_API_STREAM_STREAM_SHARED_H
#define SUPERVISOR_API_STREAM_STREAM_SHARED_H

#include "schema/agent/transcript/tail.h"
#include "supervisor/api/request.h"

/*
 * Shared event streams of runs and sessions. All clients of the same run or
 * session share a stream: rows are read and encoded once and sent to all
 * subscribers that are caught up. A subscriber that is new or lags reads for
 * itself, at its own pace, until it has caught up.
 *
 *   new ──▶ lagging ── at the same position ──▶ caught up ── no room ──▶ lagging
 *
 * A stream is polled after commits and hints about its run, and by a timer,
 * since hints may be lost.
 */
struct shared_stream;

struct shared_stream_request {
	const char *agent;
	const char *session;
	const char *run;   /* NULL: the whole session */
	const char *after; /* cursor or NULL */
	bool until_idle;   /* end when no run of the session is left */
};

/* Answers a request with the stream. On -1 (ERR_USAGE) nothing was sent. */
int shared_stream_subscribe(struct api *w,
			    const struct shared_stream_request *want,
			    struct http_reply *reply, struct err *e);

/* called by the timer; polls some of them */
void shared_streams_poll(struct api *w);
/* At the end, when all streams have been closed. */
void shared_streams_close(struct api *w);

/* JSON of what is told: schema/agent/watch.c. The caller ends
 * the object of an event, and may add its parts before. */
void stream_event_json(struct buf *b, const struct event *ev);
void stream_part_json(struct buf *b, const struct tail_item *item);

#endif
