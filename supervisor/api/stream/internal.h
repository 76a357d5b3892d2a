#ifndef SUPERVISOR_API_STREAM_INTERNAL_H
#define SUPERVISOR_API_STREAM_INTERNAL_H

#include "supervisor/api/stream/stream.h"

/*
 * The engine of event streams. A stream has a subject, for example a run, and a
 * subscriber for each client. A reader is a position in the rows of the
 * subject, and encodes the rows after it as events. Only rows are read, so a
 * client gets only committed data, and a lost hint only delays it.
 *
 * Each subscriber starts with a reader of its own. If the events depend only on
 * the position, the clients of a subject share one stream, and the subscribers
 * at the same position share one reader: each row is read and encoded once.
 *
 *   new ──▶ lagging ── at the shared position ──▶ caught up ── no room ──▶ lagging
 *
 * Otherwise (a chat of the AI SDK has state for each client) the stream has one
 * subscriber, which keeps its reader.
 *
 * A stream is polled after commits and hints about its subject, when a lagging
 * client can receive more, and by a timer. stream.c decides when to poll,
 * subscriber.c sends to the subscribers, the sources read the rows.
 */
struct event_stream;

/* Sends one event. Nonzero: send no further row for now. */
typedef int stream_send(void *arg, const struct sse_event *ev);

struct stream_source {
	/* Reads the state of the subject: `over`, the status, which run to
	 * watch. Called before the rows are read, so that the rows of a subject
	 * that is over are complete. */
	int (*refresh)(struct event_stream *t, struct err *e);
	/* Opens a reader at a cursor; NULL: where a new client starts. */
	int (*open)(void *subject, const char *after, void **reader,
		    struct err *e);
	void (*close)(void *reader); /* accepts NULL */
	/* Sends a page of new rows: 1 if there are more, 0, or -1. */
	int (*read)(void *subject, void *reader, stream_send *send, void *arg,
		    struct err *e);
	/* The position of a reader. NULL: the stream is not shared. */
	void (*cursor)(const void *reader, struct buf *out);
	/* Sends the last events of a stream that is over. False: it is not
	 * complete yet. NULL: it never ends. reader is NULL for a subscriber
	 * that is caught up. */
	bool (*finish)(struct event_stream *t, void *reader, stream_send *send,
		       void *arg);
	void (*free)(void *subject);
	const char *header[2]; /* of the response: name and value, or NULL */
};

/* Several subscribers that send to one client (bundle.c). */
struct stream_bundle;

struct subscriber {
	struct event_stream *stream;
	struct subscriber *next, **link;
	struct stream_bundle *bundle; /* NULL: the client is its own */
	struct subscriber *bundled;   /* the next one of the bundle */
	struct http_stream *http;
	void *reader;         /* NULL: caught up */
	uint64_t status_sent; /* digest of the last status */
	bool until_over;      /* end when the subject is over */
};

struct event_stream {
	struct api *api;
	const struct stream_source *source;
	void *subject;
	char *key; /* of the subject; NULL: not shared */
	struct event_stream *next, *before; /* ring */
	struct subscriber *caught_up;
	struct subscriber *lagging;
	void *reader;            /* of those caught up; NULL: there are none */
	struct buf cursor;       /* their position, as text */
	struct buf batch;        /* encoded events to be sent, … */
	int64_t in_batch;        /* … their number, … */
	struct buf ahead;        /* … and the position after them */
	struct buf status;       /* JSON, or empty */
	struct buf status_frame; /* the status as an event */
	uint64_t status_digest;
	struct supervisor_watch *host_watch, *run_watch;
	char watched[ID_SIZE];
	int64_t watched_in; /* state and attempt */
	bool over;          /* no more rows can come */
	bool poll_pending;  /* a poll is scheduled after this turn */
	bool unfinished;    /* poll again soon: some lag */
};

struct stream_request {
	const struct stream_source *source;
	void *subject; /* taken, also on failure */
	const char *key;
	const char *after;
	bool until_over;
	struct stream_bundle *bundle; /* join this one; the reply is NULL */
};

int stream_subscribe(struct api *w, const struct stream_request *want,
		     struct http_reply *reply, struct err *e);

/* A client that has left, or can receive more. */
void subscriber_closed(struct subscriber *s);
void subscriber_writable(struct subscriber *s);

/* Begins a bundle, without subscribers yet. It is freed when the client leaves
 * or the last subscriber ends. */
struct stream_bundle *bundle_open(struct http_reply *reply);
void bundle_add(struct stream_bundle *b, struct subscriber *s);
void bundle_drop(struct subscriber *s); /* s ends, the others continue */
void bundle_fail(struct stream_bundle *b, const struct err *e);

/* For refresh: */
void stream_watch_run(struct event_stream *t, const struct run_row *row);
void stream_set_status(struct event_stream *t); /* after writing t->status */

void subscriber_link(struct subscriber *s, struct subscriber **list);
void subscriber_free(struct subscriber *s);

/* Sends an error as an event; the second one also ends the stream. */
void subscriber_send_error(struct http_stream *http, const struct err *e);
void subscriber_fail(struct subscriber *s, const struct err *e);

/* Sends new rows to the subscribers that are caught up, then serves those that
 * lag, for a limited time. */
int subscribers_serve(struct event_stream *t, struct err *e);

#endif
