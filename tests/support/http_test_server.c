/*
 * A server of http/ with routes that show each thing it can do, for
 * tests/system/api/test_http.py and bench/.
 *
 *   http_test_server UNIX_PATH [TCP_ADDRESS [TOKEN]]
 *
 * Prints "ready PORT" and ends on SIGTERM. Limits are small, so that tests see
 * them: 64 KiB of queue, a heartbeat every 200 ms, 1 s of stall.
 */
#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/http/auth.h"
#include "lib/http/openapi.h"
#include "lib/http/server.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

struct app {
	uv_loop_t *loop;
	struct http_server *server;
	char token_hash[HASH_HEX];
	uv_signal_t term;
	struct ticker *tickers;
	struct later *laters;
};

/* A request that is answered by a timer. */
struct later {
	struct app *app;
	uv_timer_t timer;
	struct http_reply *reply;
	struct later *next, **link;
};

/* A stream of numbers: paced by a timer, or as fast as there is room. */
struct ticker {
	struct app *app;
	uv_timer_t timer;
	struct http_stream *stream;
	int64_t next_id;
	int64_t last_id;
	size_t pad;
	int burst;
	bool push;  /* sends without asking for room */
	bool share; /* as if it went to many */
	struct ticker *next, **link;
};

static void say_hello(void *app, const struct http_request *r,
		      struct http_reply *reply)
{
	struct buf b = BUF_MAX(4096);

	(void)app;
	buf_adds(&b, "{\"hello\":");
	json_add_string(&b, http_principal(r)->name,
			strlen(http_principal(r)->name));
	buf_addc(&b, '}');
	http_reply_json(reply, 200, b.p, b.n);
	buf_fini(&b);
}

static void echo_params(void *app, const struct http_request *r,
			struct http_reply *reply)
{
	const char *q = http_query(r, "q");
	struct buf b = BUF_MAX(1 << 20);

	(void)app;
	buf_adds(&b, "{\"a\":");
	json_add_string(&b, http_param(r, "a"), strlen(http_param(r, "a")));
	buf_adds(&b, ",\"b\":");
	json_add_string(&b, http_param(r, "b"), strlen(http_param(r, "b")));
	buf_adds(&b, ",\"q\":");
	if (q)
		json_add_string(&b, q, strlen(q));
	else
		buf_adds(&b, "null");
	buf_addc(&b, '}');
	http_reply_json(reply, 200, b.p, b.n);
	buf_fini(&b);
}

static void echo_body(void *app, const struct http_request *r,
		      struct http_reply *reply)
{
	struct blob body = http_body(r);

	(void)app;
	http_reply_bytes(reply, 200, "application/octet-stream", body.p,
			 body.n);
}

static void need_json(void *app, const struct http_request *r,
		      struct http_reply *reply)
{
	struct err e = {0};
	cJSON *body = http_body_json(r, &e);

	(void)app;
	if (!body) {
		http_reply_error(reply, &e);
		return;
	}
	cJSON_Delete(body);
	http_reply_empty(reply, 204);
}

static void free_later(uv_handle_t *h)
{
	free(h->data);
}

static void answer_later(uv_timer_t *t)
{
	struct later *l = t->data;

	http_reply_json(l->reply, 200, "{\"late\":true}", 13);
	*l->link = l->next;
	if (l->next)
		l->next->link = l->link;
	uv_close((uv_handle_t *)t, free_later);
}

static void reply_later(void *arg, const struct http_request *r,
			struct http_reply *reply)
{
	struct app *app = arg;
	struct later *l = calloc(1, sizeof *l);
	int64_t ms = 100;
	struct err e;

	if (!l)
		abort();
	http_query_i64(r, "ms", (int64_t[]){0, 60000}, &ms, &e);
	l->app = app;
	l->reply = reply;
	l->timer.data = l;
	l->next = app->laters;
	l->link = &app->laters;
	if (l->next)
		l->next->link = &l->next;
	app->laters = l;
	uv_timer_init(app->loop, &l->timer);
	uv_timer_start(&l->timer, answer_later, (uint64_t)ms, 0);
}

static void free_ticker(uv_handle_t *h)
{
	free(h->data);
}

static void stop_ticker(void *arg)
{
	struct ticker *t = arg;

	*t->link = t->next;
	if (t->next)
		t->next->link = t->link;
	uv_close((uv_handle_t *)&t->timer, free_ticker);
}

static int send_event(const struct ticker *t, const struct sse_event *ev)
{
	struct buf text = BUF_MAX(1 << 22);
	int rc;

	if (!t->share)
		return http_stream_send(t->stream, ev);
	sse_format(&text, ev);
	rc = http_stream_share(t->stream, &text, 1);
	buf_fini(&text);
	return rc;
}

static int send_number(struct ticker *t)
{
	struct buf b = BUF_MAX(1 << 22);
	char id[32];
	int rc;

	snprintf(id, sizeof id, "%" PRId64, t->next_id);
	buf_addf(&b, "{\"n\":%" PRId64 ",\"at\":%" PRId64 ",\"pad\":\"%*s\"}",
		 t->next_id, clock_mono_ns(), (int)t->pad, "");
	rc = send_event(t,
			&(struct sse_event){.id = id, .data = b.p, .n = b.n});
	t->next_id++;
	buf_fini(&b);
	return rc;
}

static void send_some(void *arg)
{
	struct ticker *t = arg;

	for (int i = 0; i < t->burst && t->next_id <= t->last_id; i++) {
		if (!t->push && http_stream_room(t->stream) == 0)
			return;
		if (send_number(t))
			return; /* closed will be called */
	}
	if (t->next_id <= t->last_id)
		return;
	http_stream_end(t->stream);
	stop_ticker(t);
}

static void on_tick(uv_timer_t *timer)
{
	send_some(timer->data);
}

static int64_t number_param(const struct http_request *r, const char *name,
			    int64_t other)
{
	struct err e;

	http_query_i64(r, name, (int64_t[]){0, INT64_C(1) << 40}, &other, &e);
	return other;
}

static void stream_numbers(void *arg, const struct http_request *r,
			   struct http_reply *reply)
{
	static const struct http_stream_ops ops = {send_some, stop_ticker};
	struct app *app = arg;
	struct ticker *t = calloc(1, sizeof *t);
	const char *after = http_header(r, "Last-Event-ID");
	uint64_t ms = (uint64_t)number_param(r, "ms", 10);

	if (!t)
		abort();
	t->app = app;
	t->next_id = (after ? strtoll(after, NULL, 10) : 0) + 1;
	t->last_id = number_param(r, "count", 10);
	t->pad = (size_t)number_param(r, "pad", 0);
	t->burst = (int)number_param(r, "burst", 1);
	t->push = http_query(r, "push") != NULL;
	t->share = http_query(r, "share") != NULL;
	t->timer.data = t;
	t->next = app->tickers;
	t->link = &app->tickers;
	if (t->next)
		t->next->link = &t->next;
	app->tickers = t;
	uv_timer_init(app->loop, &t->timer);
	if (ms)
		uv_timer_start(&t->timer, on_tick, ms, ms);
	t->stream = http_reply_stream(reply, &ops, t);
	if (!ms)
		send_some(t);
}

static void show_metrics(void *arg, const struct http_request *r,
			 struct http_reply *reply)
{
	struct app *app = arg;
	struct buf b = BUF_MAX(1 << 20);

	(void)r;
	metrics_write(http_server_metrics(app->server), &b);
	http_reply_bytes(reply, 200, "text/plain; version=0.0.4", b.p, b.n);
	buf_fini(&b);
}

static http_handler show_openapi;

#define NUMBER_ROW(F, S) F(S, i64, n) F(S, text, pad)
SHAPE_DECLARE(number_row, NUMBER_ROW);
SHAPE_DEFINE(number_row, NUMBER_ROW);

/* clang-format off */
static const struct http_route rows[] = {
	{"hello",   "GET",  "/v1/hello",          HTTP_SCOPE_READ,   say_hello,      "Says who you are",  NULL, HTTP_RESPONSE_OBJECT,  NULL},
	{"params",  "GET",  "/v1/params/{a}/{b}", HTTP_SCOPE_READ,   echo_params,    "Two names",         NULL, HTTP_RESPONSE_OBJECT,  NULL},
	{"echo",    "POST", "/v1/echo",           HTTP_SCOPE_RUN,    echo_body,      "The body again",    NULL, HTTP_RESPONSE_TEXT,    NULL},
	{"json",    "POST", "/v1/json",           HTTP_SCOPE_RUN,    need_json,      "Takes an object",   NULL, HTTP_RESPONSE_NOTHING, NULL},
	{"json_rm", "DELETE", "/v1/json",         HTTP_SCOPE_ADMIN,  need_json,      "Takes it back",     NULL, HTTP_RESPONSE_NOTHING, NULL},
	{"later",   "GET",  "/v1/later",          HTTP_SCOPE_READ,   reply_later,    "Answers by a timer", NULL, HTTP_RESPONSE_OBJECT, NULL},
	{"numbers", "GET",  "/v1/numbers",        HTTP_SCOPE_READ,   stream_numbers, "Counts",            NULL, HTTP_RESPONSE_STREAM, &number_row_shape},
	{"metrics", "GET",  "/metrics",           HTTP_SCOPE_READ,   show_metrics,   "What was counted",  NULL, HTTP_RESPONSE_TEXT,    NULL},
	{"openapi", "GET",  "/openapi.json",      HTTP_SCOPE_PUBLIC, show_openapi,   "This document",     NULL, HTTP_RESPONSE_OBJECT,  NULL},
};
/* clang-format on */

static const struct http_routes routes = {.rows = rows,
					  .n = sizeof rows / sizeof rows[0]};

static void show_openapi(void *app, const struct http_request *r,
			 struct http_reply *reply)
{
	struct buf b = BUF_MAX(1 << 20);

	(void)app;
	(void)r;
	openapi_write(&b, &routes, "test", "1");
	http_reply_json(reply, 200, b.p, b.n);
	buf_fini(&b);
}

static int check_token(void *arg, enum http_credential kind, const char *hash,
		       struct http_principal *who, struct err *e)
{
	struct app *app = arg;

	(void)kind; /* no cookie is accepted */
	if (!http_token_equal(hash, app->token_hash))
		return err_set(e, ERR_UNAUTHORIZED, "that token is not known");
	*who = (struct http_principal){.name = "tester",
				       .scopes = HTTP_SCOPE_BIT(READ) |
						 HTTP_SCOPE_BIT(RUN)};
	return 0;
}

static void on_term(uv_signal_t *sig, int signum)
{
	struct app *app = sig->data;

	(void)signum;
	uv_close((uv_handle_t *)sig, NULL);
	http_server_stop(app->server);
	while (app->laters)
		answer_later(&app->laters->timer);
}

int main(int argc, char **argv)
{
	uv_loop_t loop;
	struct app app = {.loop = &loop};
	struct http_config config = {
		.unix_path = argc > 1 ? argv[1] : NULL,
		.tcp_address = argc > 2 ? argv[2] : NULL,
		.routes = routes,
		.check = check_token,
		.app = &app,
		.limits = {.body = 1 << 20,
			   .queue = 64 << 10,
			   .request_ms = 1000,
			   .beat_ms = 200,
			   .stall_ms = 1000},
	};
	struct err e = {0};

	log_setup("http_test_server", LOG_LEVEL_WARN, -1);
	http_token_hash(argc > 3 ? argv[3] : "secret", app.token_hash);
	(void)signal(SIGPIPE, SIG_IGN);
	uv_loop_init(&loop);
	if (http_server_open(&app.server, &loop, &config, &e)) {
		fprintf(stderr, "http_test_server: %s\n", e.text);
		uv_loop_close(&loop);
		return err_exit_status(e.code);
	}
	uv_signal_init(&loop, &app.term);
	app.term.data = &app;
	uv_signal_start(&app.term, on_term, SIGTERM);
	printf("ready %d\n", http_server_port(app.server));
	(void)fflush(stdout);
	uv_run(&loop, UV_RUN_DEFAULT);
	http_server_close(app.server);
	return uv_loop_close(&loop) ? 1 : 0;
}
