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
 * The interface for handlers: a request to read, and a reply to send now or
 * later. All calls are made on the loop's thread.
 */

/* Permissions of a credential; a route requires one of them. */
enum http_scope {
#define SCOPE(name, word, help) HTTP_SCOPE_##name,
#include "lib/http/scope.def"
#undef SCOPE
	HTTP_SCOPES
};

#define HTTP_SCOPE_BIT(name) (1u << HTTP_SCOPE_##name)
#define HTTP_SCOPES_ALL      ((1u << HTTP_SCOPES) - 1)

const char *http_scope_name(enum http_scope s);
int http_scope_from(const char *word); /* -1: no such scope */

/* The client. */
struct http_principal {
	char name[64];
	unsigned scopes; /* HTTP_SCOPE_BIT bits */
};

/* Borrowed for the duration of the handler's call. */
struct http_request;

const struct http_principal *http_principal(const struct http_request *r);

/* A {name} of the route's pattern; asserts that the pattern has it. */
const char *http_param(const struct http_request *r, const char *name);
const char *http_query(const struct http_request *r, const char *name);
const char *http_header(const struct http_request *r, const char *name);
/* NULL also if there are several: programs might use different ones. */
const char *http_header_once(const struct http_request *r, const char *name);

/* A number from the query, within the range; *out is unchanged if it is absent.
 * -1 with ERR_USAGE. */
int http_query_i64(const struct http_request *r, const char *name,
		   const int64_t range[2], int64_t *out, struct err *e);

/* Whether a boolean of the query is set: ?all, ?all=1, ?all=true. */
bool http_query_flag(const struct http_request *r, const char *name);

/* The body of a route that declares its members (lib/http/input.h): a checked
 * object. Borrowed. */
const cJSON *http_body_members(const struct http_request *r);

/* The raw body, NUL-terminated; and the body as a JSON object, which the caller
 * frees (NULL with ERR_INVALID). An empty body is an empty object. */
struct blob http_body(const struct http_request *r);
cJSON *http_body_json(const struct http_request *r, struct err *e);

/*
 * The response to one request: exactly one of the functions below sends it and
 * frees the handle. It may be kept as long as needed (until after a commit,
 * until an event). If the client leaves meanwhile, the handle stays valid and
 * the response is discarded.
 */
struct http_reply;

void http_reply_json(struct http_reply *r, int status, const char *text,
		     size_t n);
void http_reply_bytes(struct http_reply *r, int status, const char *type,
		      const void *p, size_t n);
void http_reply_empty(struct http_reply *r, int status);
void http_reply_error(struct http_reply *r, const struct err *e);

/* Before the response: adds a header. Both are ours and contain no line
 * break. */
void http_reply_header(struct http_reply *r, const char *name,
		       const char *value);
const char *http_reply_route(
	const struct http_reply *r); /* NULL: the client has
							   * disconnected */

/*
 * A stream of events. The queue of bytes that the client has not read yet is
 * bounded: a send that does not fit drops the client, which can resume with
 * Last-Event-ID. A producer that reads rows calls http_stream_room first, stops
 * at 0 and continues when `writable` is called; then only clients that read
 * nothing for the stall time are dropped. The server sends heartbeats.
 *
 * `closed` is the last call with arg, made from the loop (never from inside one
 * of these functions): the client left or was dropped. It is not called after
 * http_stream_end.
 */
struct http_stream;

struct http_stream_ops {
	void (*writable)(void *arg);
	void (*closed)(void *arg);
};

/* Turns the reply into a stream, whether or not the client is still connected.
 * ops is borrowed permanently. */
struct http_stream *http_reply_stream(struct http_reply *r,
				      const struct http_stream_ops *ops,
				      void *arg);

/* -1 if the client is gone or was just dropped. */
int http_stream_send(struct http_stream *s, const struct sse_event *ev);

/* The same for `count` events that sse_format has written one after the other,
 * for a producer that sends them to many clients. A client that has read
 * everything so far is written to directly, without a copy in our memory. */
int http_stream_share(struct http_stream *s, const struct buf *events,
		      int64_t count);
size_t http_stream_room(struct http_stream *s); /* 0: wait for writable */

/* The stream is complete; queued bytes are still sent. Frees the handle. */
void http_stream_end(struct http_stream *s);

#endif
