#ifndef LIB_HTTP_REPLY_H
#define LIB_HTTP_REPLY_H

#include "lib/http/http.h"

/* Shared by conn.c, reply.c and stream.c. Private to http/. */
struct conn;
struct conn_core;

struct http_stream {
	struct conn *c; /* NULL: gone, and on the list of orphans */
	struct conn_core *core;
	const struct http_stream_ops *ops;
	void *arg;
	bool waiting;                     /* the producer found no room */
	struct http_stream *next, **link; /* of the orphans */
};

struct http_reply *reply_new(struct conn *c); /* and c->reply points to it */
void reply_lost(struct http_reply *r);        /* the connection is closing */

void stream_orphan(struct http_stream *s); /* no client: notify later */
void stream_lost(struct http_stream *s);   /* likewise; calls closed, frees */
void stream_resume(struct http_stream *s);
void stream_drop(struct http_stream *s); /* too slow: count and report it */
void stream_beat(struct http_stream *s);

#endif
