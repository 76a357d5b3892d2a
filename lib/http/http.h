#ifndef LIB_HTTP_HTTP_H
#define LIB_HTTP_HTTP_H

#include "lib/base/err.h"
#include "lib/base/shape.h"
#include "lib/json/json.h"
#include "lib/json/sse.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What a route's handler sees: a request to read, and a reply to give now or
 * later. One thread, the loop's.
 */

/* What a credential may do; a route asks for one of them. */
enum http_scope {
#define SCOPE(name, word, help) HTTP_SCOPE_##name,
#include "lib/http/scope.def"
#undef SCOPE
	HTTP_SCOPES
};

#define HTTP_CAN(name) (1u << HTTP_SCOPE_##name)
#define HTTP_CAN_ALL   ((1u << HTTP_SCOPES) - 1)

const char *http_scope_word(enum http_scope s);
int http_scope_from(const char *word); /* -1: no such scope */

/* Who asks. */
struct http_subject {
	char name[64];
	unsigned can; /* HTTP_CAN bits */
};

/* Borrowed for the time of the handler's call. */
struct http_request;

const struct http_subject *http_subject(const struct http_request *r);
const char *http_path(const struct http_request *r); /* as sent, no query */

/* A {name} of the route's pattern; asserts that the pattern has it. */
const char *http_param(const struct http_request *r, const char *name);
const char *http_query(const struct http_request *r, const char *name);
const char *http_header(const struct http_request *r, const char *name);
/* NULL also if there are several: two programs might take different ones. */
const char *http_header_once(const struct http_request *r, const char *name);

/* A number from the query, in the range; *out stays if it is not there. -1 with
 * ERR_USAGE. */
int http_query_i64(const struct http_request *r, const char *name,
		   const int64_t range[2], int64_t *out, struct err *e);

/* Whether a boolean of the query is set: ?all, ?all=1, ?all=true. */
bool http_query_flag(const struct http_request *r, const char *name);

/* The body of a route that declares its members (lib/http/input.h): an object that
 * has been checked. Borrowed. */
const cJSON *http_body_members(const struct http_request *r);

/* The raw body, NUL-terminated; and the body as a JSON object, which the caller
 * frees (NULL with ERR_INVALID). An empty body is an empty object. */
struct blob http_body(const struct http_request *r);
cJSON *http_body_json(const struct http_request *r, struct err *e);

/*
 * The answer to one request: exactly one of the functions below gives it and
 * frees the handle. It may be kept for as long as needed (until after a commit,
 * until an event): if the client goes away meanwhile, the handle stays good and
 * the answer goes nowhere.
 */
struct http_reply;

void http_reply_json(struct http_reply *r, int status, const char *text,
		     size_t n);
void http_reply_bytes(struct http_reply *r, int status, const char *type,
		      const void *p, size_t n);
void http_reply_empty(struct http_reply *r, int status);
void http_reply_error(struct http_reply *r, const struct err *e);

/* Before the answer: one more header. Both are ours and hold no line break. */
void http_reply_header(struct http_reply *r, const char *name,
		       const char *value);
bool http_reply_is_gone(const struct http_reply *r);
const char *http_reply_route(const struct http_reply *r); /* NULL: gone */

/*
 * A stream of events. The queue of bytes that the client has not read yet is
 * bounded: a send that does not fit drops the client, who can resume with
 * Last-Event-ID. A producer that reads rows asks http_stream_room first, stops
 * at 0 and goes on when `writable` is called; then nobody is dropped but those
 * who read nothing for the stall time. Heartbeats are sent by the server.
 *
 * `closed` is the last call on arg, made from the loop (never from inside a
 * call of yours): the client left or was dropped. It does not come after
 * http_stream_end.
 */
struct http_stream;

struct http_stream_ops {
	void (*writable)(void *arg);
	void (*closed)(void *arg);
};

/* Turns the reply into a stream, whether or not the client is still there. ops
 * is borrowed for good. */
struct http_stream *http_reply_stream(struct http_reply *r,
				      const struct http_stream_ops *ops,
				      void *arg);

/* -1 when the client is gone or has just been dropped. */
int http_stream_send(struct http_stream *s, const struct sse_event *ev);

/* The same of `count` events that sse_format has written one after the other,
 * for a producer that has them for many: a client who has read everything so
 * far is written to at once, and has no copy of it in our memory. */
int http_stream_share(struct http_stream *s, const struct buf *events,
		      int64_t count);
size_t http_stream_room(struct http_stream *s); /* 0: wait for writable */

/* The stream is complete; what is queued still goes out. Frees the handle. */
void http_stream_end(struct http_stream *s);

#endif
