#ifndef LIB_HTTP_CLIENT_H
#define LIB_HTTP_CLIENT_H

#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/json/sse.h"

/*
 * A small blocking HTTP client, for the CLI, which talks to the supervisor on
 * its unix socket, and for tests. An object has one connection, which is kept
 * between calls; only one thread may use it at a time. It does not use libcurl,
 * which loads 25 libraries: a third of the time of a short command.
 */
struct http_client;

struct http_target {
	const char *unix_path; /* NULL: TCP */
	const char *base_url;  /* "http://127.0.0.1:7411"; any with unix_path */
	const char *token;     /* NULL: none */
};

/* Copies the target. Sends nothing yet. */
int http_client_open(struct http_client **out, const struct http_target *t,
		     struct err *e);
void http_client_close(struct http_client *c); /* accepts NULL */

/*
 * Sends a request and appends the response body to `answer` (may be NULL). body
 * is JSON text or NULL. Returns the status, or -1: a problem+json response
 * becomes the server's error; ERR_UNAVAILABLE if there is no listener.
 */
int http_client_call(struct http_client *c, const char *method,
		     const char *path, const char *body, struct buf *answer,
		     struct err *e);

/* Return true to end a call or follow soon. */
typedef bool http_client_quit(void *arg);

struct http_follow {
	const char *path;
	const char *last_id; /* resume after this event; NULL: from the start */
	int (*on_event)(void *arg, const struct sse_event *ev);
	http_client_quit *quit; /* NULL: never */
	void *arg;
	bool once; /* do not reconnect when the connection breaks */
};

/*
 * Reads an event stream until the server ends it (0), on_event returns nonzero
 * (that value), quit returns true (0) or it fails (-1). After a broken
 * connection it reconnects with Last-Event-ID after a moment, without a limit.
 */
int http_client_follow(struct http_client *c, const struct http_follow *want,
		       struct err *e);

#endif
