#ifndef LIB_HTTP_SERVER_H
#define LIB_HTTP_SERVER_H

#include "lib/base/err.h"
#include "lib/http/metrics.h"
#include "lib/http/route.h"

#include <stddef.h>
#include <uv.h>

/*
 * An HTTP/1.1 server on the caller's loop: on a unix socket, whose peers are
 * identified by their uid, and on TCP, where each request has a bearer token.
 * It handles routes and bytes, not their meaning. The program must ignore
 * SIGPIPE.
 */
struct http_server;

/* How a TCP client identifies itself: by a token in Authorization, or by a
 * cookie, which browsers send by themselves. */
enum http_credential { HTTP_BEARER, HTTP_COOKIE };

/* Fills *who for the holder of a credential. The server passes the SHA-256, in
 * hex, of what the client sent; compare with http_token_equal
 * (lib/http/auth.h). */
typedef int http_check(void *app, enum http_credential kind, const char *hash,
		       struct http_principal *who, struct err *e);

/* Writes the body of an error response as JSON, for paths whose clients expect
 * another format than RFC 9457; false: it is not one of them. */
typedef bool http_error_body(const char *path, const struct err *e,
			     struct buf *out);

struct http_limits {
	size_t head;         /* bytes of a request's head */
	size_t body;         /* bytes of a request's body */
	size_t queue;        /* unread bytes after which a client is dropped */
	unsigned conns;      /* connections at once */
	unsigned login_ms;   /* for a TCP client to authenticate */
	unsigned request_ms; /* to send a complete request */
	unsigned idle_ms;    /* between two requests of a connection */
	unsigned stall_ms;   /* without reading any queued bytes */
	unsigned beat_ms;    /* heartbeat of idle streams */
};

extern const struct http_limits http_limits_default;

struct http_config {
	const char *unix_path;   /* NULL: none */
	const char *tcp_address; /* "127.0.0.1:7411", "[::1]:0"; NULL: none */
	const char *const *origins; /* allowed besides our own; NULL-ended */
	const char *const *hosts;   /* likewise, names of this host */
	const char *cookie; /* name of the cookie; NULL: none is accepted */
	struct http_routes routes;
	http_check *check;           /* NULL: no token is valid */
	http_error_body *error_body; /* NULL: all errors are problems */
	void *app;                   /* handed to handlers and check */
	struct http_limits limits;   /* a field with 0 has the default */
};

/* Listens, or returns the reason: the path is too long, another server uses it
 * (ERR_CONFLICT), the port is in use. Copies *c; what it points to is
 * borrowed. */
int http_server_open(struct http_server **out, uv_loop_t *loop,
		     const struct http_config *c, struct err *e);

/* Stops listening, sends queued bytes as far as possible without waiting, and
 * closes every connection; replies and streams are notified (`closed` is called
 * from here). The loop then ends if it has nothing else to do. */
void http_server_stop(struct http_server *s);

/* After the loop has ended: frees everything. Accepts NULL. */
void http_server_close(struct http_server *s);

/* Whether it is possible to listen on `address`. A port that `held` uses counts
 * as free, because its owner is about to exit. */
int http_check_address(const char *address, const char *held, struct err *e);

int http_server_port(const struct http_server *s); /* of TCP; 0: none */
struct metrics *http_server_metrics(struct http_server *s); /* borrowed */

/* Counts CPU time of the loop that a response took after its handler
 * returned. */
void http_server_spent(struct http_server *s, const char *route, int64_t ns);

#endif
