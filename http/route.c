#include "http/route.h"

#include <assert.h>
#include <string.h>

/* The path's next segment and what follows it; NULL at the end. "/a/" has two
 * segments, the second of them empty. */
static const char *next_segment(const char **path, size_t *n)
{
	const char *start = *path;

	if (*start != '/')
		return NULL;
	start++;
	*n = strcspn(start, "/");
	*path = start + *n;
	return start;
}

static bool is_param(const char *segment, size_t n)
{
	return n > 2 && segment[0] == '{' && segment[n - 1] == '}';
}

static bool fits(const char *pattern, const char *path)
{
	size_t want_n, have_n;

	for (;;) {
		const char *want = next_segment(&pattern, &want_n);
		const char *have = next_segment(&path, &have_n);

		if (!want || !have)
			return !want && !have;
		if (is_param(want, want_n)
			    ? have_n == 0
			    : have_n != want_n || memcmp(want, have, want_n))
			return false;
	}
}

static int read_params(const struct http_route *r, const char *path,
		       struct arena *a, struct http_match *m, struct err *e)
{
	const char *pattern = r->path;
	size_t want_n, have_n = 0;
	const char *want;

	*m = (struct http_match){.route = r};
	while ((want = next_segment(&pattern, &want_n))) {
		const char *have = next_segment(&path, &have_n);
		char *value;

		if (!is_param(want, want_n))
			continue;
		assert(m->nparams < HTTP_PARAMS_MAX);
		value = arena_textn(a, have, have_n);
		if (http_decode(value, false, e))
			return -1;
		m->params[m->nparams++] = (struct http_pair){
			arena_textn(a, want + 1, want_n - 2), value};
	}
	return 0;
}

int http_route_find(const struct http_routes *t, const char *method,
		    const char *path, struct arena *a, struct http_match *m,
		    struct err *e)
{
	bool known = false;

	if (strcmp(method, "HEAD") == 0)
		method = "GET";
	for (size_t i = 0; i < t->n; i++) {
		if (!fits(t->rows[i].path, path))
			continue;
		if (strcmp(t->rows[i].method, method) == 0)
			return read_params(&t->rows[i], path, a, m, e);
		known = true;
	}
	if (known)
		return err_set(e, ERR_METHOD,
			       "this address does not take that method");
	return err_set(e, ERR_NOTFOUND,
		       "there is no such address; /openapi.json lists all");
}

void http_route_allow(const struct http_routes *t, const char *path,
		      struct buf *out)
{
	for (size_t i = 0; i < t->n; i++)
		if (fits(t->rows[i].path, path))
			buf_addf(out, "%s%s", out->n ? ", " : "",
				 t->rows[i].method);
}
