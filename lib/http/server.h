#ifndef LIB_HTTP_SERVER_H
#define LIB_HTTP_SERVER_H

#include "lib/base/err.h"
#include "lib/http/metrics.h"
#include "lib/http/route.h"

#include <stddef.h>
#include <uv.h>

/*
 * An HTTP/1.1 server on a loop that belongs to somebody else: on a unix socket
 * whose peers are known by their uid, and on TCP where each request carries a
 * bearer token. It knows routes and bytes, and nothing of what they mean. The
 * program must ignore SIGPIPE.
 */
struct http_server;

/* Fills *who for the holder of a token. The server passes the SHA-256 of what
 * the client sent, in hex; compare with http_token_equal (lib/http/auth.h). */
typedef int http_check(void *app, const char *token_hash,
		       struct http_subject *who, struct err *e);

struct http_limits {
	size_t head;         /* bytes of a request's head */
	size_t body;         /* bytes of a request's body */
	size_t queue;        /* unread bytes after which a reader is dropped */
	unsigned conns;      /* connections at once */
	unsigned login_ms;   /* for a TCP client to authenticate */
	unsigned request_ms; /* to send a whole request */
	unsigned idle_ms;    /* between two requests of a connection */
	unsigned stall_ms;   /* without reading anything that is queued */
	unsigned beat_ms;    /* heartbeat of silent streams */
};

extern const struct http_limits http_limits_default;

struct http_config {
	const char *unix_path;   /* NULL: none */
	const char *tcp_address; /* "127.0.0.1:7411", "[::1]:0"; NULL: none */
	const char *const *origins; /* allowed besides our own; NULL-ended */
	const char *const *hosts;   /* likewise, names we are known by */
	struct http_routes routes;
	http_check *check;         /* NULL: no token is good */
	void *app;                 /* handed to handlers and check */
	struct http_limits limits; /* a field that is 0 takes the default */
};

/* Listens, or says why not: the path is too long, another server answers on it
 * (ERR_CONFLICT), the port is taken. Copies *c; what it points to is borrowed. */
int http_server_open(struct http_server **out, uv_loop_t *loop,
		     const struct http_config *c, struct err *e);

/* Listens no more, sends what is queued as far as it goes at once, cuts every
 * connection; replies and streams see their clients gone (`closed` is called
 * from here). When the loop has nothing else to do it then ends. */
void http_server_stop(struct http_server *s);

/* After the loop has ended: frees everything. NULL is fine. */
void http_server_close(struct http_server *s);

/* Whether `address` could be listened on. A port that `held` uses counts as
 * free: whoever has it is about to leave. */
int http_check_address(const char *address, const char *held, struct err *e);

int http_server_port(const struct http_server *s); /* of TCP; 0: none */
struct metrics *http_server_metrics(struct http_server *s); /* borrowed */

/* Counts CPU time of the loop that an answer took after its handler returned. */
void http_server_spent(struct http_server *s, const char *route, int64_t ns);

#endif
