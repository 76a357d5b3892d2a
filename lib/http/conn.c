#include "lib/http/conn.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/http/reply.h"

#define LINGER_MS 2000
#define OUT_MAX   ((size_t)256 << 20) /* maximum size of a response */
#define MS_TO_NS  1000000

const struct http_limits http_limits_default = {
	.head = 16 << 10,
	.body = 8 << 20,
	.queue = 256 << 10,
	.conns = 8192,
	.login_ms = 5000,
	.request_ms = 30000,
	.idle_ms = 120000,
	.stall_ms = 30000,
	.beat_ms = 15000,
};

const struct metric http_metric_table[HTTP_METRICS] = {
#define METRIC(id, kind, name, label, help) \
	[HTTP_M_##id] = {name, help, label, METRIC_##kind},
#include "lib/http/http_metrics.def"
#undef METRIC
};

void conn_core_init(struct conn_core *k, const struct http_config *config)
{
	const struct http_limits *d = &http_limits_default;
	struct http_limits *l = &k->config.limits;

	*k = (struct conn_core){.config = *config};
	l->head = l->head ? l->head : d->head;
	l->body = l->body ? l->body : d->body;
	l->queue = l->queue ? l->queue : d->queue;
	l->conns = l->conns ? l->conns : d->conns;
	l->login_ms = l->login_ms ? l->login_ms : d->login_ms;
	l->request_ms = l->request_ms ? l->request_ms : d->request_ms;
	l->idle_ms = l->idle_ms ? l->idle_ms : d->idle_ms;
	l->stall_ms = l->stall_ms ? l->stall_ms : d->stall_ms;
	l->beat_ms = l->beat_ms ? l->beat_ms : d->beat_ms;
	buf_init(&k->scratch, OUT_MAX);
	k->metrics = metrics_new(http_metric_table, HTTP_METRICS);
}

void conn_core_fini(struct conn_core *k)
{
	assert(!k->conns && !k->orphans);
	buf_fini(&k->scratch);
	metrics_free(k->metrics);
}

struct conn *conn_new(struct conn_core *k, bool is_unix, unsigned uid)
{
	struct conn *c = calloc(1, sizeof *c);

	if (!c)
		abort();
	c->core = k;
	c->is_unix = is_unix;
	if (is_unix) {
		c->peer.uid = uid;
		c->peer.scopes = uid == 0 || uid == geteuid() ? HTTP_SCOPES_ALL
							      : 0;
		c->trusted = c->peer.scopes != 0;
	}
	buf_init(&c->in, k->config.limits.head + (128 << 10));
	buf_init(&c->body, k->config.limits.body);
	buf_init(&c->out, OUT_MAX);
	c->since = c->progress = clock_mono_ns();
	c->keep_alive = true;
	c->next = k->conns;
	c->link = &k->conns;
	if (c->next)
		c->next->link = &c->next;
	k->conns = c;
	metrics_add(k->metrics, HTTP_M_ACCEPTED, NULL, 1);
	metrics_add(k->metrics, HTTP_M_CONNECTIONS, NULL, 1);
	return c;
}

void conn_free(struct conn *c)
{
	metrics_add(c->core->metrics, HTTP_M_CONNECTIONS, NULL, -1);
	*c->link = c->next;
	if (c->next)
		c->next->link = c->link;
	if (c->reply)
		reply_lost(c->reply);
	if (c->stream)
		stream_lost(c->stream);
	buf_fini(&c->in);
	buf_fini(&c->body);
	buf_fini(&c->out);
	arena_fini(&c->arena);
	free(c);
}

void conn_forget_request(struct conn *c)
{
	arena_fini(&c->arena);
	c->head = NULL;
	c->path = NULL;
}

void conn_wake(struct conn *c)
{
	c->core->wake(c, c->core->wake_arg);
}

static void conn_fail(struct conn *c, const struct err *e)
{
	struct http_reply *r = reply_new(c);

	c->state = CONN_BUSY;
	if (e->code == ERR_METHOD) {
		struct buf allow = BUF_MAX(256);

		http_route_allow(&c->core->config.routes, c->path, &allow);
		http_reply_header(r, "Allow", allow.p);
		buf_fini(&allow);
	}
	if (e->code == ERR_UNAUTHORIZED)
		http_reply_header(r, "WWW-Authenticate", "Bearer");
	http_reply_error(r, e);
}

/* True when there was a whole head. */
static bool step_head(struct conn *c)
{
	size_t max = c->core->config.limits.head;
	size_t blank = 0, size;
	struct err e = {0};

	while (blank + 1 < c->in.n && memcmp(c->in.p + blank, "\r\n", 2) == 0)
		blank += 2; /* some clients send one after a body */
	buf_drop(&c->in, blank);
	size = http_head_size(c->in.p, c->in.n);
	if (size == 0 && c->in.n <= max)
		return false;
	arena_reset(&c->arena);
	c->head_only = false;
	c->route = NULL;
	c->principal = (struct http_principal){.name = "-"};
	if (size == 0 || size > max) {
		c->keep_alive = false;
		c->path = arena_text(&c->arena, "");
		c->head = arena_alloc(&c->arena, sizeof *c->head);
		err_set(&e, ERR_HEADTOOBIG,
			"the request header is limited to %zu bytes", max);
		conn_fail(c, &e);
	} else if (conn_read_head(c, size, &e)) {
		conn_fail(c, &e);
	} else {
		c->state = CONN_BODY;
	}
	c->since = clock_mono_ns();
	return true;
}

/* Parses a body with declared members and checks it. */
static int read_members(struct conn *c, struct err *e)
{
	const struct http_routes *t = &c->core->config.routes;
	struct http_request r = {c};

	if (!t->inputs || c->route->request == &http_body_raw)
		return 0;
	c->json = http_body_json(&r, e);
	if (!c->json)
		return -1;
	return http_body_check(c->route->request, c->json, e);
}

void conn_core_spent(struct conn_core *k, const char *route, int64_t ns)
{
	metrics_add(k->metrics, HTTP_M_LOOP, route, (double)ns / 1e9);
}

static void dispatch(struct conn *c)
{
	struct http_request r = {c};
	const char *route = c->route->name;
	int64_t since = clock_cpu_ns();
	struct err e = {0};

	c->state = CONN_BUSY;
	c->since = clock_mono_ns();
	metrics_add(c->core->metrics, HTTP_M_REQUESTS, c->route->name, 1);
	if (read_members(c, &e)) {
		conn_fail(c, &e);
	} else {
		c->handling = true;
		c->route->handle(c->core->config.app, &r, reply_new(c));
		c->handling = false;
	}
	conn_core_spent(c->core, route, clock_cpu_ns() - since);
	cJSON_Delete(c->json);
	c->json = NULL;
	buf_fini(&c->body);
	if (c->state == CONN_STREAM)
		conn_forget_request(c);
}

/* True if the body is complete or invalid. */
static bool step_body(struct conn *c)
{
	size_t used = 0;
	struct err e = {0};
	int done;

	assert(c->head);
	if (c->head->chunked) {
		done = http_chunks_read(&c->chunks, c->in.p, c->in.n, &c->body,
					&used, &e);
	} else {
		size_t left = (size_t)c->head->length - c->body.n;

		used = c->in.n < left ? c->in.n : left;
		buf_add(&c->body, c->in.p, used);
		done = used == left;
	}
	if (done < 0) {
		c->keep_alive = false;
		conn_fail(c, &e);
		return true;
	}
	buf_drop(&c->in, used);
	if (done)
		dispatch(c);
	return done;
}

static void read_requests(struct conn *c)
{
	bool more = true;

	while (more && !c->kill) {
		if (c->state == CONN_HEAD && c->out.n <= 64 << 10)
			more = step_head(c);
		else if (c->state == CONN_BODY)
			more = step_body(c);
		else
			more = false;
	}
	if (c->in.n == 0)
		buf_fini(&c->in);
}

void conn_input(struct conn *c, const char *p, size_t n)
{
	if (c->state == CONN_LINGER || c->kill)
		return;
	if (c->state == CONN_HEAD && c->in.n == 0 && c->trusted)
		c->since = clock_mono_ns();
	buf_add(&c->in, p, n);
	if (c->in.over) { /* it keeps sending while we are busy */
		c->kill = true;
		conn_wake(c);
		return;
	}
	read_requests(c);
	if (c->out.n)
		conn_wake(c);
}

size_t conn_pending(const struct conn *c, const char **p)
{
	*p = c->out.p + c->sent;
	return c->out.n - c->sent;
}

void conn_sent(struct conn *c, size_t n)
{
	c->sent += n;
	c->progress = clock_mono_ns();
	if (c->sent == c->out.n) {
		buf_fini(&c->out);
		c->sent = 0;
	} else if (c->sent > c->out.n / 2) {
		buf_drop(&c->out, c->sent);
		c->sent = 0;
	}
}

void conn_resume(struct conn *c)
{
	if (c->stream)
		stream_resume(c->stream);
	if (c->in.n)
		read_requests(c);
}

bool conn_is_done(const struct conn *c)
{
	return c->state == CONN_LINGER && c->out.n == 0;
}

void conn_answered(struct conn *c)
{
	c->state = c->keep_alive ? CONN_HEAD : CONN_LINGER;
	c->since = clock_mono_ns();
	c->principal = (struct http_principal){{0}, 0};
	conn_wake(c);
}

void conn_log(const struct conn *c, int status)
{
	log_info(LT("msg", "http"), LT("method", c->head ? c->head->method : 0),
		 LT("path", c->path), LI("status", status),
		 LT("who", c->principal.name),
		 LI("us", (clock_mono_ns() - c->since) / 1000));
}

/* Maximum duration of the state; 0: unlimited. */
static unsigned state_limit(const struct conn *c)
{
	const struct http_limits *l = &c->core->config.limits;

	switch (c->state) {
	case CONN_HEAD:
		if (!c->trusted)
			return l->login_ms;
		return c->in.n ? l->request_ms : l->idle_ms;
	case CONN_BODY:
		return c->trusted ? l->request_ms : l->login_ms;
	case CONN_LINGER:
		return c->out.n ? 0 : LINGER_MS;
	case CONN_BUSY:
	case CONN_STREAM:
		break;
	}
	return 0;
}

void conn_tick(struct conn *c, int64_t now)
{
	const struct http_limits *l = &c->core->config.limits;
	unsigned limit = state_limit(c);

	if (limit && now - c->since > (int64_t)limit * MS_TO_NS)
		c->kill = true;
	if (c->out.n && now - c->progress > (int64_t)l->stall_ms * MS_TO_NS) {
		if (c->stream)
			stream_drop(c->stream);
		c->kill = true;
	}
	if (c->kill)
		conn_wake(c);
	else if (c->stream && !c->out.n &&
		 now - c->progress > (int64_t)l->beat_ms * MS_TO_NS)
		stream_beat(c->stream);
}
