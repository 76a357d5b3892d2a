/* Decides from the head of a request whether to accept it: all checks that do
 * not need the body. */
#include <string.h>

#include "lib/http/auth.h"
#include "lib/http/conn.h"

#define QUERY_MAX 32

static bool is_change(const struct conn *c)
{
	return strcmp(c->head->method, "GET") != 0 &&
	       strcmp(c->head->method, "HEAD") != 0;
}

/* The cookie of a browser. Other pages can cause requests with it, so a change
 * also needs a header that only our page can send. */
static int check_cookie(struct conn *c, const char *cookie, struct err *e)
{
	const struct http_config *cf = &c->core->config;
	const char *site = http_head_get(c->head, "Sec-Fetch-Site");
	char hash[HASH_HEX];

	if (site && strcmp(site, "same-origin") != 0 &&
	    strcmp(site, "none") != 0)
		return err_set(e, ERR_DENIED,
			       "a page of another site sent this request");
	if (is_change(c) && !http_head_get(c->head, HTTP_CSRF_HEADER))
		return err_set(e, ERR_DENIED,
			       "a change with a cookie needs the "
			       "header " HTTP_CSRF_HEADER ": 1");
	http_token_hash(cookie, hash);
	if (cf->check(cf->app, HTTP_COOKIE, hash, &c->principal, e))
		return -1;
	c->trusted = true;
	return 0;
}

/* Identifies the client, and checks that it may send requests at all. */
static int authenticate(struct conn *c, struct err *e)
{
	const struct http_config *cf = &c->core->config;
	const char *token = http_bearer(
		http_head_get(c->head, "Authorization"));
	char hash[HASH_HEX], cookie[HTTP_TOKEN_SIZE];

	if (c->is_unix && c->peer.scopes) {
		snprintf(c->principal.name, sizeof c->principal.name, "uid:%u",
			 c->peer.uid);
		c->principal.scopes = c->peer.scopes;
		return 0;
	}
	if (c->is_unix && !token)
		return err_set(e, ERR_UNAUTHORIZED,
			       "only the user of the supervisor may use this "
			       "socket, and not from a sandbox or a container; "
			       "others need a token");
	if (!token && !c->is_unix && cf->cookie && cf->check &&
	    http_cookie_get(http_head_get(c->head, "Cookie"), cf->cookie,
			    cookie, sizeof cookie))
		return check_cookie(c, cookie, e);
	if (!token || !cf->check)
		return err_set(e, ERR_UNAUTHORIZED,
			       "a token is required: Authorization: Bearer "
			       "TOKEN");
	http_token_hash(token, hash);
	if (cf->check(cf->app, HTTP_BEARER, hash, &c->principal, e))
		return -1;
	c->trusted = true;
	return 0;
}

/* A browser sends Origin with requests of its pages, and the Host that it
 * connected to. This rejects pages of other sites, and foreign names that
 * resolve to us. */
static int check_browser(const struct conn *c, struct err *e)
{
	const char *host = http_head_get(c->head, "Host");
	const char *origin = http_head_get(c->head, "Origin");

	if (c->is_unix)
		return 0;
	if (!http_host_is_ours(host, c->core->config.hosts))
		return err_set(e, ERR_DENIED,
			       "unknown Host name; http.hosts in skep.json "
			       "lists allowed names");
	if (origin &&
	    !http_origin_is_ours(origin, host, c->core->config.origins))
		return err_set(e, ERR_DENIED,
			       "this Origin is not allowed; http.origins in "
			       "skep.json lists allowed origins");
	return 0;
}

static int check_body(struct conn *c, struct err *e)
{
	size_t set = c->core->config.limits.body;
	size_t own = c->core->config.routes.inputs
			     ? http_body_max(c->route->request)
			     : SIZE_MAX;
	size_t max = own < set ? own : set;

	buf_clear(&c->body);
	c->body.max = max;
	c->chunks = (struct http_chunks){0};
	if ((uint64_t)c->head->length > max)
		return err_set(
			e, ERR_TOOBIG,
			"the request body is limited to %zu bytes%s", max,
			own < set ? "" : " (http.body_max in skep.json)");
	return 0;
}

/* All checks that do not need the body. */
static int admit(struct conn *c, struct err *e)
{
	struct err lost = {0};
	int found;

	if (check_browser(c, e))
		return -1;
	found = http_route_find(&c->core->config.routes, c->head->method,
				c->path, &c->arena, c->match, &lost);
	c->route = found == 0 ? c->match->route : NULL;
	if (!c->route || c->route->scope != HTTP_SCOPE_PUBLIC) {
		if (authenticate(c, e))
			return -1;
	}
	if (!c->route) {
		*e = lost;
		return -1;
	}
	if (c->route->scope != HTTP_SCOPE_PUBLIC &&
	    !(c->principal.scopes & 1u << c->route->scope))
		return err_set(e, ERR_DENIED,
			       "a token with the scope \"%s\" is required",
			       http_scope_name(c->route->scope));
	if (http_route_check_query(&c->core->config.routes, c->match, c->query,
				   c->nquery, e))
		return -1;
	return check_body(c, e);
}

static int read_target(struct conn *c, struct err *e)
{
	char *query;
	ssize_t n;

	c->path = arena_text(&c->arena, c->head->target);
	query = strchr(c->path, '?');
	c->nquery = 0;
	if (!query)
		return 0;
	*query++ = '\0';
	c->query = arena_alloc(&c->arena, QUERY_MAX * sizeof *c->query);
	n = http_query_parse(query, c->query, QUERY_MAX, e);
	c->nquery = n < 0 ? 0 : (size_t)n;
	return n < 0 ? -1 : 0;
}

int conn_read_head(struct conn *c, size_t size, struct err *e)
{
	char *text = arena_textn(&c->arena, c->in.p, size);

	buf_drop(&c->in, size);
	c->head = arena_alloc(&c->arena, sizeof *c->head);
	c->match = arena_alloc(&c->arena, sizeof *c->match);
	c->path = text + size; /* "", in case the target is invalid */
	c->keep_alive = false; /* after an invalid head, nothing more is read */
	if (http_head_parse(text, size, c->head, e))
		return -1;
	c->http_1_0 = c->head->http_1_0;
	c->head_only = strcmp(c->head->method, "HEAD") == 0;
	if (read_target(c, e) || admit(c, e)) {
		c->keep_alive = c->head->keep_alive && !c->head->length &&
				!c->head->chunked;
		return -1;
	}
	c->keep_alive = c->head->keep_alive;
	if (c->head->expect_continue && (c->head->length || c->head->chunked))
		buf_adds(&c->out, "HTTP/1.1 100 Continue\r\n\r\n");
	return 0;
}
