#include "lib/http/http.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

#include "lib/base/text.h"
#include "lib/http/conn.h"

static const char *const scope_words[HTTP_SCOPES] = {
#define SCOPE(name, word, help) [HTTP_SCOPE_##name] = word,
#include "lib/http/scope.def"
#undef SCOPE
};

const char *http_scope_name(enum http_scope s)
{
	return scope_words[s];
}

int http_scope_from(const char *word)
{
	for (int s = 0; s < HTTP_SCOPES; s++)
		if (strcmp(scope_words[s], word) == 0)
			return s;
	return -1;
}

const struct http_principal *http_principal(const struct http_request *r)
{
	return &r->c->principal;
}

static const char *find_pair(const struct http_pair *pairs, size_t n,
			     const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(pairs[i].name, name) == 0)
			return pairs[i].value;
	return NULL;
}

const char *http_param(const struct http_request *r, const char *name)
{
	const char *value = find_pair(r->c->match->params, r->c->match->nparams,
				      name);

	assert(value);
	return value;
}

const char *http_query(const struct http_request *r, const char *name)
{
	return find_pair(r->c->query, r->c->nquery, name);
}

const char *http_header(const struct http_request *r, const char *name)
{
	return http_head_get(r->c->head, name);
}

const char *http_header_once(const struct http_request *r, const char *name)
{
	const struct http_head *h = r->c->head;
	const char *value = NULL;

	for (size_t i = 0; i < h->nheaders; i++) {
		if (strcasecmp(h->headers[i].name, name) != 0)
			continue;
		if (value)
			return NULL;
		value = h->headers[i].value;
	}
	return value;
}

int http_query_i64(const struct http_request *r, const char *name,
		   const int64_t range[2], int64_t *out, struct err *e)
{
	const char *text = http_query(r, name);

	return text ? text_i64(name, text, range[0], range[1], out, e) : 0;
}

bool http_query_flag(const struct http_request *r, const char *name)
{
	return http_input_true(http_query(r, name));
}

const cJSON *http_body_members(const struct http_request *r)
{
	assert(r->c->json);
	return r->c->json;
}

struct blob http_body(const struct http_request *r)
{
	return (struct blob){r->c->body.p, r->c->body.n};
}

cJSON *http_body_json(const struct http_request *r, struct err *e)
{
	const struct buf *body = &r->c->body;

	if (body->n == 0)
		return json_parse_object("the request's body", "{}", 2, e);
	return json_parse_object("the request's body", body->p, body->n, e);
}
