#ifndef SUPERVISOR_API_STREAM_STREAM_H
#define SUPERVISOR_API_STREAM_STREAM_H

#include "schema/agent/transcript/tail.h"
#include "supervisor/api/request.h"

/*
 * Event streams: committed rows as server-sent events. One engine serves all of
 * them; internal.h describes it.
 */
struct run_stream_request {
	const char *agent;
	const char *session;
	const char *run;   /* NULL: the whole session */
	const char *after; /* cursor or NULL */
	bool until_idle;   /* end when no run of the session is left */
	struct stream_bundle *bundle; /* join this one, with reply NULL */
};

/* Each answers the request with a stream. On -1 nothing was sent. */
int run_stream_subscribe(struct api *w, const struct run_stream_request *want,
			 struct http_reply *reply, struct err *e);

struct ai_stream_request {
	const char *agent;
	const char *session;
	const char *run;
	const char *after; /* cursor: the client has the first part of the
			    * message; or NULL */
	int64_t answers;   /* new answers that the rows will contain */
};

int ai_stream_subscribe(struct api *w, const struct ai_stream_request *want,
			struct http_reply *reply, struct err *e);

/* Called by timers: polls some streams, since hints may be lost; polls the
 * streams that could not finish. */
void streams_poll(struct api *w);
void streams_poll_unfinished(struct api *w);

/* At the end, when all connections are closed. */
void streams_close(struct api *w);

/* The JSON of an event and of a part. The caller ends the object of an event,
 * and may add its parts before. */
void stream_event_json(struct buf *b, const struct event *ev);
void stream_part_json(struct buf *b, const struct tail_item *item,
		      const char *run); /* NULL: not included */

/* Streams a run to an OpenAI client. Takes the request and the writer. */
struct openai_writer;
void openai_stream_subscribe(struct api_request *q, struct openai_writer *w);

#endif
