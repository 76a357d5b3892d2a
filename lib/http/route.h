#ifndef LIB_HTTP_ROUTE_H
#define LIB_HTTP_ROUTE_H

#include "lib/base/arena.h"
#include "lib/base/shape.h"
#include "lib/http/body.h"
#include "lib/http/http.h"
#include "lib/http/parse.h"

/*
 * The route table: a row states which requests a handler serves, which scope
 * they need, and what the OpenAPI document says about them. The table is const;
 * server and document borrow it.
 */
typedef void http_handler(void *app, const struct http_request *r,
			  struct http_reply *reply);

enum http_response {
	HTTP_RESPONSE_OBJECT,
	HTTP_RESPONSE_LIST,   /* {"items": [...], "next": cursor or null} */
	HTTP_RESPONSE_STREAM, /* text/event-stream */
	HTTP_RESPONSE_TEXT,
	HTTP_RESPONSE_NOTHING
};

struct http_route {
	const char *name;   /* operation id, metric label: "run_show" */
	const char *method; /* HEAD is answered by GET's route */
	const char *path;   /* "/v1/runs/{id}": a {name} is one segment */
	enum http_scope scope;
	http_handler *handle;
	const char *summary;
	const struct http_body *request; /* NULL: no body */
	enum http_response response;
	const struct shape *shape; /* of the object or of an item, or NULL */
};

/* Without declared parameters (NULL) the handlers check requests themselves,
 * also their bodies. */
struct http_routes {
	const struct http_route *rows;
	size_t n;
	const struct http_input *inputs; /* of paths and queries */
	size_t ninputs;
};

#define HTTP_PARAMS_MAX 8

struct http_match {
	const struct http_route *route;
	size_t nparams;
	struct http_pair params[HTTP_PARAMS_MAX];
};

/* Finds the route for a path that is still percent-encoded and has no query.
 * Decoded parameters are allocated in the arena. -1 with ERR_NOTFOUND,
 * ERR_METHOD (known path, unknown method) or ERR_USAGE. */
int http_route_find(const struct http_routes *t, const char *method,
		    const char *path, struct arena *a, struct http_match *m,
		    struct err *e);

/* Checks the parameters of path and query: -1 with ERR_USAGE names one that is
 * unknown, repeated, missing or invalid. */
int http_route_check_query(const struct http_routes *t,
			   const struct http_match *m,
			   const struct http_pair *query, size_t nquery,
			   struct err *e);

/* The methods of the path, as the value of an Allow header. */
void http_route_allow(const struct http_routes *t, const char *path,
		      struct buf *out);

#endif
