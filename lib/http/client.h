#ifndef LIB_HTTP_CLIENT_H
#define LIB_HTTP_CLIENT_H

#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/json/sse.h"

/*
 * A small blocking HTTP client: for the CLI, which asks the supervisor on its
 * unix socket, and for tests. One object, one connection that is kept between
 * calls; not for several threads at once. It does without libcurl, which loads
 * 25 libraries: a third of the time of a short command.
 */
struct http_client;

struct http_target {
	const char *unix_path; /* NULL: TCP */
	const char *base_url;  /* "http://127.0.0.1:7411"; any with unix_path */
	const char *token;     /* NULL: none */
};

/* Copies the target. Nothing is sent yet. */
int http_client_open(struct http_client **out, const struct http_target *t,
		     struct err *e);
void http_client_close(struct http_client *c); /* NULL is fine */

/*
 * Sends a request and appends the answer's body to `answer` (may be NULL). body
 * is JSON text or NULL. Gives the status, or -1: a problem+json answer becomes
 * the error that the server had; ERR_UNAVAILABLE if nobody listens.
 */
int http_client_call(struct http_client *c, const char *method,
		     const char *path, const char *body, struct buf *answer,
		     struct err *e);

/* A stop from elsewhere: return true and a call or follow ends soon. */
typedef bool http_client_quit(void *arg);

struct http_follow {
	const char *path;
	const char *last_id; /* resume after this event; NULL: from the start */
	int (*on_event)(void *arg, const struct sse_event *ev);
	http_client_quit *quit; /* NULL: never */
	void *arg;
	bool once; /* do not connect again when the connection breaks */
};

/*
 * Reads an event stream until the server ends it (0), on_event returns nonzero
 * (that value), quit says so (0) or it fails (-1). A connection that breaks is
 * made again after a moment, with Last-Event-ID, for as long as it takes.
 */
int http_client_follow(struct http_client *c, const struct http_follow *want,
		       struct err *e);

#endif
