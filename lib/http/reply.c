#include "lib/http/reply.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/text.h"
#include "lib/http/conn.h"

#define JSON_TYPE    "application/json"
#define PROBLEM_TYPE "application/problem+json"

struct http_reply {
	struct conn *c; /* NULL: the client is gone */
	struct conn_core *core;
	struct buf extra; /* header lines */
};

static const struct {
	int status;
	const char *reason;
} reasons[] = {
	{200, "OK"},
	{201, "Created"},
	{202, "Accepted"},
	{204, "No Content"},
	{304, "Not Modified"},
	{308, "Permanent Redirect"},
	{400, "Bad Request"},
	{401, "Unauthorized"},
	{403, "Forbidden"},
	{404, "Not Found"},
	{405, "Method Not Allowed"},
	{409, "Conflict"},
	{413, "Content Too Large"},
	{422, "Unprocessable Content"},
	{429, "Too Many Requests"},
	{431, "Request Header Fields Too Large"},
	{500, "Internal Server Error"},
	{501, "Not Implemented"},
	{502, "Bad Gateway"},
	{503, "Service Unavailable"},
	{504, "Gateway Timeout"},
	{507, "Insufficient Storage"},
};

static const char *reason_of(int status)
{
	for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
		if (reasons[i].status == status)
			return reasons[i].reason;
	return "Answer"; /* the text is for users; clients use the number */
}

struct http_reply *reply_new(struct conn *c)
{
	struct http_reply *r = calloc(1, sizeof *r);

	if (!r)
		abort();
	assert(!c->reply);
	r->c = c;
	r->core = c->core;
	buf_init(&r->extra, 4096);
	c->reply = r;
	return r;
}

void reply_lost(struct http_reply *r)
{
	r->c = NULL;
}

static void reply_free(struct http_reply *r)
{
	if (r->c)
		r->c->reply = NULL;
	buf_fini(&r->extra);
	free(r);
}

const char *http_reply_route(const struct http_reply *r)
{
	return r->c && r->c->route ? r->c->route->name : NULL;
}

void http_reply_header(struct http_reply *r, const char *name,
		       const char *value)
{
	assert(!strpbrk(name, "\r\n") && !strpbrk(value, "\r\n"));
	buf_addf(&r->extra, "%s: %s\r\n", name, value);
}

static void count_answer(struct conn *c, int status)
{
	char text[16];

	snprintf(text, sizeof text, "%d", status);
	metrics_add(c->core->metrics, HTTP_M_ANSWERS, text, 1);
	conn_log(c, status);
}

/* The status line and the headers of every response. */
static void conn_write_head(struct conn *c, int status, const char *type,
			    const char *extra)
{
	if (c->out.n == 0)
		c->progress = clock_mono_ns();
	buf_addf(&c->out, "HTTP/1.1 %d %s\r\n", status, reason_of(status));
	if (type)
		buf_addf(&c->out, "Content-Type: %s\r\n", type);
	buf_adds(&c->out, "X-Content-Type-Options: nosniff\r\n");
	if (!strstr(extra, "Cache-Control: "))
		buf_adds(&c->out, "Cache-Control: no-store\r\n");
	buf_adds(&c->out, extra);
	if (!c->keep_alive)
		buf_adds(&c->out, "Connection: close\r\n");
	else if (c->http_1_0)
		buf_adds(&c->out, "Connection: keep-alive\r\n");
}

static void write_reply(struct conn *c, struct http_reply *r, int status,
			const char *type, struct blob body)
{
	conn_write_head(c, status, type, r->extra.p);
	if (status != 204 && status != 304)
		buf_addf(&c->out, "Content-Length: %zu\r\n", body.n);
	buf_adds(&c->out, "\r\n");
	if (!c->head_only && status != 204 && status != 304)
		buf_add(&c->out, body.p, body.n);
	count_answer(c, status);
	if (c->route)
		metrics_observe(c->core->metrics, HTTP_M_SECONDS, NULL,
				(double)(clock_mono_ns() - c->since) / 1e9);
	conn_answered(c);
}

static void reply_with(struct http_reply *r, int status, const char *type,
		       struct blob body)
{
	struct conn *c = r->c;

	if (c) {
		assert(c->state == CONN_BUSY);
		c->reply = NULL;
		write_reply(c, r, status, type, body);
		r->c = NULL;
	}
	reply_free(r);
}

void http_reply_bytes(struct http_reply *r, int status, const char *type,
		      const void *p, size_t n)
{
	reply_with(r, status, type, (struct blob){p, n});
}

void http_reply_json(struct http_reply *r, int status, const char *text,
		     size_t n)
{
	reply_with(r, status, JSON_TYPE, (struct blob){text, n});
}

void http_reply_empty(struct http_reply *r, int status)
{
	reply_with(r, status, NULL, (struct blob){"", 0});
}

/* RFC 9457. `type` is a name of the error table, so that clients compare a name
 * instead of a sentence. */
static void add_problem(struct buf *b, const struct err *e)
{
	char type[64];

	text_printf(type, sizeof type, "urn:skep:error:%s", err_name(e->code));
	json_begin_object(b);
	json_put_text(b, "type", type);
	json_put_text(b, "title", err_description(e->code));
	json_put_int(b, "status", err_http_status(e->code));
	json_put_text(b, "detail", e->text);
	json_put_text(b, "code", err_name(e->code));
	json_put_bool(b, "retry", err_is_retryable(e->code));
	json_end_object(b);
}

void http_reply_error(struct http_reply *r, const struct err *e)
{
	http_error_body *own = r->core->config.error_body;
	struct buf b = BUF_MAX(8192);
	bool is_own = own && r->c && own(r->c->path, e, &b);

	if (!is_own)
		add_problem(&b, e);
	buf_addc(&b, '\n');
	reply_with(r, err_http_status(e->code),
		   is_own ? JSON_TYPE : PROBLEM_TYPE, (struct blob){b.p, b.n});
	buf_fini(&b);
}

static void begin_stream(struct conn *c, struct http_reply *r,
			 struct http_stream *s)
{
	if (c->http_1_0)
		c->keep_alive =
			false; /* only the end of the connection ends it */
	conn_write_head(c, 200, "text/event-stream", r->extra.p);
	if (!c->http_1_0)
		buf_adds(&c->out, "Transfer-Encoding: chunked\r\n");
	buf_adds(&c->out, "\r\n");
	count_answer(c, 200);
	c->state = CONN_STREAM;
	c->stream = s;
	s->c = c;
	metrics_add(c->core->metrics, HTTP_M_STREAMS, NULL, 1);
	if (!c->handling)
		conn_forget_request(c);
	conn_wake(c);
}

struct http_stream *http_reply_stream(struct http_reply *r,
				      const struct http_stream_ops *ops,
				      void *arg)
{
	struct http_stream *s = calloc(1, sizeof *s);
	struct conn *c = r->c;

	if (!s)
		abort();
	s->core = r->core;
	s->ops = ops;
	s->arg = arg;
	if (c && c->head_only) {
		conn_write_head(c, 200, "text/event-stream", r->extra.p);
		buf_adds(&c->out, "\r\n");
		conn_answered(c);
	} else if (c) {
		begin_stream(c, r, s);
	}
	if (!s->c)
		stream_orphan(s);
	reply_free(r);
	return s;
}
