#include "tests/support/http_wire.h"

#include <stdlib.h>
#include <string.h>

#include "lib/http/auth.h"

static void now(void *app, const struct http_request *r,
		struct http_reply *reply)
{
	(void)app, (void)r;
	http_reply_json(reply, 200, "{\"now\":true}", 12);
}

static void item(void *app, const struct http_request *r,
		 struct http_reply *reply)
{
	const char *name = http_param(r, "name");

	(void)app;
	http_reply_bytes(reply, 200, "text/plain", name, strlen(name));
}

static void echo(void *app, const struct http_request *r,
		 struct http_reply *reply)
{
	struct blob b = http_body(r);

	(void)app;
	http_reply_bytes(reply, 201, "text/plain", b.p, b.n);
}

static void later(void *app, const struct http_request *r,
		  struct http_reply *reply)
{
	struct wire *w = app;

	(void)r;
	w->held = reply;
}

static void on_closed(void *app)
{
	struct wire *w = app;

	w->closed++;
	w->stream = NULL;
}

static void on_writable(void *app)
{
	struct wire *w = app;

	w->writable++;
}

static void stream(void *app, const struct http_request *r,
		   struct http_reply *reply)
{
	static const struct http_stream_ops ops = {on_writable, on_closed};
	struct wire *w = app;

	(void)r;
	w->stream = http_reply_stream(reply, &ops, w);
	http_stream_send(w->stream,
			 &(struct sse_event){.id = "1", .data = "one", .n = 3});
	http_stream_send(w->stream,
			 &(struct sse_event){.id = "2", .data = "two", .n = 3});
}

static const struct http_route rows[] = {
	{"now", "GET", "/now", HTTP_SCOPE_READ, now, "", 0, 0, 0},
	{"item", "GET", "/item/{name}", HTTP_SCOPE_READ, item, "", 0, 0, 0},
	{"echo", "POST", "/echo", HTTP_SCOPE_READ, echo, "", 0, 0, 0},
	{"later", "GET", "/later", HTTP_SCOPE_READ, later, "", 0, 0, 0},
	{"stream", "GET", "/stream", HTTP_SCOPE_READ, stream, "", 0,
	 HTTP_RESPONSE_STREAM, 0},
	{"secret", "GET", "/secret", HTTP_SCOPE_ADMIN, now, "", 0, 0, 0},
	{"open", "GET", "/open", HTTP_SCOPE_PUBLIC, now, "", 0, 0, 0},
};

static int check_token(void *app, enum http_credential kind, const char *hash,
		       struct http_principal *who, struct err *e)
{
	char good[HASH_HEX];

	(void)app;
	http_token_hash(kind == HTTP_COOKIE ? "baked" : "good", good);
	if (!http_token_equal(hash, good))
		return err_set(e, ERR_UNAUTHORIZED, "that token is not known");
	*who = (struct http_principal){.name = "t",
				       .scopes = HTTP_SCOPE_BIT(READ)};
	return 0;
}

static void on_wake(struct conn *c, void *arg)
{
	struct wire *w = arg;

	(void)c;
	w->woken++;
}

void wire_init(struct wire *w, bool is_unix)
{
	struct http_config config = {
		.routes = {.rows = rows, .n = sizeof rows / sizeof rows[0]},
		.check = check_token,
		.cookie = "login",
		.app = w,
		.limits = {.head = 1024, .body = 1024, .queue = 4096},
	};

	*w = (struct wire){0};
	conn_core_init(&w->core, &config);
	w->core.wake = on_wake;
	w->core.wake_arg = w;
	buf_init(&w->out, 64 << 20);
	w->c = conn_new(&w->core, is_unix, 0);
}

void wire_hang_up(struct wire *w)
{
	if (w->c)
		conn_free(w->c);
	w->c = NULL;
}

void wire_answer_held(struct wire *w)
{
	struct http_reply *r = w->held;

	w->held = NULL;
	if (r)
		http_reply_json(r, 202, "{}", 2);
}

void wire_fini(struct wire *w)
{
	wire_hang_up(w);
	wire_answer_held(w);
	conn_orphans_close(&w->core);
	buf_fini(&w->out);
	conn_core_fini(&w->core);
}

void wire_drain(struct wire *w)
{
	const char *p;
	size_t n;

	if (!w->c || w->c->kill)
		return;
	while ((n = conn_pending(w->c, &p))) {
		n = n > 7 ? n / 2 : n;
		buf_add(&w->out, p, n);
		conn_sent(w->c, n);
		if (conn_pending(w->c, &p) == 0)
			conn_resume(w->c);
	}
}

void wire_input(struct wire *w, const char *p, size_t n)
{
	conn_input(w->c, p, n);
	wire_drain(w);
}

/* Where the chunked body at p ends; NULL: not here. */
static const char *skip_chunks(const char *p, const char *end)
{
	for (;;) {
		char *after;
		unsigned long n = strtoul(p, &after, 16);

		if (after == p || end - after < 2 || memcmp(after, "\r\n", 2))
			return NULL;
		p = after + 2;
		if ((size_t)(end - p) < n + 2 || memcmp(p + n, "\r\n", 2))
			return NULL;
		p += n + 2;
		if (n == 0)
			return p;
	}
}

/* One answer at *p; its status, 0: incomplete, -1: wrong. */
static int parse_answer(const char **p, const char *end)
{
	const char *head = *p;
	size_t size = http_head_size(head, (size_t)(end - head));
	const char *body = head + size, *length;
	int status;

	if (strncmp(head, "HTTP/1.1 ", 9) != 0)
		return -1;
	status = (int)strtol(head + 9, NULL, 10);
	if (status < 100 || status > 599)
		return -1;
	if (size == 0)
		return 0;
	length = memmem(head, size, "\r\nContent-Length: ", 18);
	*p = body;
	if (memmem(head, size, "\r\nTransfer-Encoding: chunked\r\n", 30)) {
		*p = skip_chunks(body, end);
		if (!*p)
			*p = head;
		return *p == head ? 0 : status;
	}
	if (length)
		*p += strtoul(length + 18, NULL, 10);
	else if (memmem(head, size, "\r\nConnection: close\r\n", 21))
		*p = end; /* the end of the connection is the end of it */
	else if (status != 204 && status != 100)
		return -1;
	return *p > end ? 0 : status;
}

int wire_answers(const struct wire *w, bool open, int *list, int max)
{
	const char *p = w->out.p, *end = p + w->out.n;
	int n = 0;

	while (p < end) {
		int status = parse_answer(&p, end);

		if (status < 0 || (status == 0 && !open))
			return -1;
		if (status == 0)
			return n;
		if (status != 100 && n < max)
			list[n] = status;
		n += status != 100;
	}
	return n;
}
