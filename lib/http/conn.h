#ifndef LIB_HTTP_CONN_H
#define LIB_HTTP_CONN_H

#include "lib/base/arena.h"
#include "lib/base/buf.h"
#include "lib/http/metrics.h"
#include "lib/http/parse.h"
#include "lib/http/route.h"
#include "lib/http/server.h"

/*
 * One connection without its socket: conn_input receives bytes, bytes to send
 * wait in `out`, and `wake` reports that there is work. So all of HTTP is here
 * and can be tested and fuzzed without a network; socket.c has the sockets.
 * Private to lib/http.
 *
 *   HEAD ── head ──▶ BODY ── body ──▶ BUSY ── reply ──▶ HEAD (or LINGER)
 *                                      └─ stream ─▶ STREAM ── end ──▶ HEAD …
 */
enum conn_state { CONN_HEAD, CONN_BODY, CONN_BUSY, CONN_STREAM, CONN_LINGER };

struct conn;

enum http_metric {
#define METRIC(id, kind, name, label, help) HTTP_M_##id,
#include "lib/http/http_metrics.def"
#undef METRIC
	HTTP_METRICS
};

extern const struct metric http_metric_table[HTTP_METRICS];

/* Shared by all connections of a server. */
struct conn_core {
	struct http_config config;
	struct metrics *metrics;
	struct conn *conns;          /* all that are open */
	struct http_stream *orphans; /* streams whose client is gone */
	struct buf scratch;
	void (*wake)(struct conn *c, void *arg); /* c NULL: orphans */
	/* Sends now if nothing is queued; false: queue it. Or NULL. */
	bool (*send)(struct conn *c, const struct blob *parts, int n);
	void *wake_arg;
};

struct conn_peer { /* the needed part of a subject: there are thousands */
	unsigned uid;
	unsigned scopes;
};

struct conn {
	struct conn_core *core;
	struct conn *next, **link;
	enum conn_state state;
	bool is_unix;
	bool trusted;   /* authenticated once: longer time-outs */
	bool head_only; /* the request is HEAD */
	bool http_1_0;
	bool keep_alive;
	bool kill;     /* close now, regardless of queued bytes */
	bool handling; /* inside a handler, which may read the request */
	struct conn_peer peer; /* unix: the peer */
	struct buf in;
	struct buf body;
	cJSON *json; /* the body of a declared route, during its handler */
	struct buf out;
	size_t sent;        /* bytes of out that were sent */
	struct arena arena; /* of the current request */
	struct http_head *head;
	struct http_match *match;
	struct http_pair *query;
	size_t nquery;
	struct http_principal principal;
	char *path;
	struct http_chunks chunks;
	struct http_reply *reply;
	struct http_stream *stream;
	const struct http_route
		*route;   /* of the current request, for the log */
	int64_t since;    /* clock_mono_ns of the state's begin */
	int64_t progress; /* … of the last byte sent or queued on empty */

	/* For server.c and socket.c */
	struct conn_socket *socket;
	bool shut;                        /* our side of the socket is closed */
	struct conn *dirty, **dirty_link; /* connections with work to do */
};

struct http_request {
	const struct conn *c;
};

void conn_core_init(struct conn_core *k, const struct http_config *config);
void conn_core_fini(struct conn_core *k);
void conn_core_spent(struct conn_core *k, const char *route, int64_t ns);

/* uid is that of a unix peer; HTTP_NOBODY: it must show a token. */
#define HTTP_NOBODY ((unsigned)-1)
struct conn *conn_new(struct conn_core *k, bool is_unix, unsigned uid);

/* The socket is closed: notifies reply and stream, frees the connection. */
void conn_free(struct conn *c);

void conn_input(struct conn *c, const char *p, size_t n);

/* n bytes of conn_pending were sent. Continues what waited for room: a
 * pipelined request, a stream's producer. */
size_t conn_pending(const struct conn *c, const char **p);
void conn_sent(struct conn *c, size_t n);
void conn_resume(struct conn *c);

/* Everything queued was sent, and nothing more will be read. */
bool conn_is_done(const struct conn *c);

void conn_tick(struct conn *c, int64_t now); /* time-outs, heartbeats */
void conn_orphans_close(struct conn_core *k);

/* authorize.c: removes a head of `size` bytes from `in` and checks all of it:
 * the client, the route, the sizes. -1: respond with the error. */
int conn_read_head(struct conn *c, size_t size, struct err *e);

/* For reply.c */
void conn_wake(struct conn *c);
void conn_forget_request(struct conn *c); /* frees its memory */
void conn_answered(struct conn *c);       /* on to the next request, or end */
void conn_log(const struct conn *c, int status);

#endif
