#include "lib/http/route.h"

#include <assert.h>
#include <string.h>

#include "lib/base/suggest.h"
#include "lib/base/text.h"

/* The next segment of the path and the rest; NULL at the end. "/a/" has two
 * segments, the second of which is empty. */
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
			       "this URL does not support the method");
	return err_set(e, ERR_NOTFOUND,
		       "there is no such route; /openapi.json lists "
		       "all routes");
}

/* --- declared input ------------------------------------------------------ */

static const struct http_input *find_input(const struct http_routes *t,
					   const struct http_route *r,
					   enum http_place place,
					   const char *name)
{
	for (size_t i = 0; i < t->ninputs; i++) {
		const struct http_input *in = &t->inputs[i];

		if (&t->rows[in->route] == r && in->in == place &&
		    strcmp(in->name, name) == 0)
			return in;
	}
	return NULL;
}

static const char *find_pair(const struct http_pair *pairs, size_t n,
			     const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(pairs[i].name, name) == 0)
			return pairs[i].value;
	return NULL;
}

static int fail_unknown(const struct http_routes *t, const struct http_route *r,
			const char *name, struct err *e)
{
	struct suggestion near;
	const char *meant;

	suggest_begin(&near, name);
	for (size_t i = 0; i < t->ninputs; i++)
		if (&t->rows[t->inputs[i].route] == r &&
		    t->inputs[i].in == HTTP_IN_QUERY)
			suggest_candidate(&near, t->inputs[i].name);
	meant = suggest_end(&near);
	if (meant)
		return err_set(e, ERR_USAGE,
			       "%s is not a parameter of this address; did "
			       "you mean %s?",
			       quoted(name).text, meant);
	return err_set(e, ERR_USAGE,
		       "%s is not a parameter of this address; /openapi.json "
		       "lists them",
		       quoted(name).text);
}

static int check_known(const struct http_routes *t, const struct http_route *r,
		       const struct http_pair *query, size_t n, struct err *e)
{
	for (size_t i = 0; i < n; i++) {
		const char *name = query[i].name;

		if (!find_input(t, r, HTTP_IN_QUERY, name))
			return fail_unknown(t, r, name, e);
		if (find_pair(query, i, name))
			return err_set(e, ERR_USAGE, "%s is given twice", name);
	}
	return 0;
}

int http_route_check_query(const struct http_routes *t,
			   const struct http_match *m,
			   const struct http_pair *query, size_t nquery,
			   struct err *e)
{
	if (!t->inputs)
		return 0;
	if (check_known(t, m->route, query, nquery, e))
		return -1;
	for (size_t i = 0; i < t->ninputs; i++) {
		const struct http_input *in = &t->inputs[i];
		const char *value;

		if (&t->rows[in->route] != m->route)
			continue;
		value = in->in == HTTP_IN_PATH
				? find_pair(m->params, m->nparams, in->name)
				: find_pair(query, nquery, in->name);
		if (!value && in->need == HTTP_REQUIRED)
			return err_set(e, ERR_USAGE, "%s is required",
				       in->name);
		if (value && http_input_text(in, value, e))
			return -1;
	}
	return 0;
}

void http_route_allow(const struct http_routes *t, const char *path,
		      struct buf *out)
{
	for (size_t i = 0; i < t->n; i++)
		if (fits(t->rows[i].path, path))
			buf_addf(out, "%s%s", out->n ? ", " : "",
				 t->rows[i].method);
}
