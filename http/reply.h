#ifndef HTTP_REPLY_H
#define HTTP_REPLY_H

#include "http/http.h"

/* Between conn.c and reply.c. Private to http/. */
struct conn;

struct http_reply *reply_new(struct conn *c); /* and c->reply points to it */
void reply_lost(struct http_reply *r);        /* the connection goes away */

void stream_lost(struct http_stream *s); /* likewise; calls closed, frees */
void stream_resume(struct http_stream *s);
void stream_drop(struct http_stream *s); /* too slow: count it, say so */
void stream_beat(struct http_stream *s);

#endif
