#include "supervisor/api/request.h"

#include "lib/base/clock.h"
#include "lib/base/text.h"
#include "schema/control/cursor.h"
#include "supervisor/core/supervisor.h"

#include <stdlib.h>
#include <string.h>

struct api_request *request_new(struct api *w, const struct http_request *r,
				struct http_reply *reply)
{
	struct api_request *q = calloc(1, sizeof *q);

	if (!q)
		abort();
	q->api = w;
	q->http = r;
	q->reply = reply;
	q->db = supervisor_db(w->sup);
	q->by = arena_printf(&q->arena, "http:%s", http_principal(r)->name);
	return q;
}

void request_free(struct api_request *q)
{
	arena_fini(&q->arena);
	free(q);
}

const char *request_param(struct api_request *q, const char *name)
{
	return arena_text(&q->arena, http_param(q->http, name));
}

const char *request_query(struct api_request *q, const char *name)
{
	const char *value = http_query(q->http, name);

	return value && *value ? arena_text(&q->arena, value) : NULL;
}

int request_limit(struct api_request *q)
{
	struct err e = {0};

	q->limit = 100;
	if (http_query_i64(q->http, "limit", (int64_t[]){1, 1000}, &q->limit,
			   &e)) {
		request_fail(q, &e);
		return -1;
	}
	return 0;
}

int request_before(struct api_request *q, enum id_kind kind)
{
	struct err e = {0};

	if (page_before(kind, request_query(q, "before"), &q->from, &e)) {
		request_fail(q, &e);
		return -1;
	}
	return 0;
}

/* An EventSource requests a stream in Accept; the query parameter is easier
 * with curl. */
static bool wants_stream(const struct http_request *r)
{
	const char *accept = http_header(r, "Accept");

	return http_query_flag(r, "stream") ||
	       (accept && strstr(accept, "text/event-stream"));
}

int request_reader(struct api_request *q)
{
	const char *last = http_header(q->http, "Last-Event-ID");

	if (request_limit(q))
		return -1;
	q->flag = wants_stream(q->http);
	q->from = last ? arena_text(&q->arena, last)
		       : request_query(q, "after");
	return 0;
}

void request_fail(struct api_request *q, const struct err *e)
{
	if (q->reply)
		http_reply_error(q->reply, e);
	request_free(q);
}

void api_reply_bytes(struct http_reply *reply, const char *type,
		     struct blob bytes)
{
	http_reply_header(reply, "Content-Disposition", "attachment");
	http_reply_header(reply, "Content-Security-Policy",
			  "default-src 'none'; sandbox");
	http_reply_bytes(reply, 200, type, bytes.p, bytes.n);
}

void request_answer(struct api_request *q, int rc, struct buf *out,
		    struct err *e)
{
	if (rc || buf_ok(out, "the answer", e)) {
		request_fail(q, e);
		return;
	}
	if (q->reply)
		http_reply_json(q->reply, q->status ? q->status : 200, out->p,
				out->n);
	request_free(q);
}

/* Reads and answers. All rows are committed at this point. */
static void answer_request(struct api_request *q)
{
	const char *route = q->reply ? http_reply_route(q->reply) : NULL;
	struct http_server *server = q->api->server;
	struct buf out = BUF_MAX(REQUEST_ANSWER_MAX);
	int64_t since = clock_cpu_ns();
	struct err e = {0};
	int rc = q->read(q, &out, &e);

	request_answer(q, rc, &out, &e);
	buf_fini(&out);
	if (route)
		http_server_spent(server, route, clock_cpu_ns() - since);
}

static void answer_after_commit(void *arg, const struct err *failed)
{
	struct api_request *q = arg;

	if (failed)
		request_fail(q, failed);
	else
		answer_request(q);
}

void request_read(struct api_request *q,
		  int (*read)(struct api_request *q, struct buf *out,
			      struct err *e))
{
	q->read = read;
	supervisor_after_commit(q->api->sup, answer_after_commit, q);
}

static void on_done(void *arg, const struct command_result *r)
{
	struct api_request *q = arg;
	struct buf out = BUF_MAX(8192);

	if (r->failed) {
		request_fail(q, r->failed);
		return;
	}
	if (q->read) {
		q->id = arena_text(&q->arena, r->id.text);
		if (q->status == 201 && !r->changed)
			q->status = 200; /* it existed already */
		answer_request(q);
		return;
	}
	json_begin_object(&out);
	json_put_text(&out, "id", r->id.text);
	json_put_bool(&out, "changed", r->changed);
	json_put_nullable(&out, "note", r->note);
	json_end_object(&out);
	http_reply_json(q->reply, 200, out.p, out.n);
	buf_fini(&out);
	request_free(q);
}

struct completion request_done(struct api_request *q)
{
	return (struct completion){on_done, q};
}

void request_command(struct api_request *q, int rc, const struct err *e)
{
	if (rc)
		request_fail(q, e);
}

static int exec_change(struct api_request *q, const struct request_change *c,
		       struct err *e)
{
	struct supervisor *s = q->api->sup;
	int n = txn_begin(&s->txn, e) ? -1
				      : sql_exec(s->db, c->query, c->in, e);

	if (n == 0 && !c->unchanged)
		return err_set(e, ERR_NOTFOUND, "there is no %s %s", c->noun,
			       quoted(c->id).text);
	if (n >= 0)
		complete_later(s, request_done(q), c->id, n > 0,
			       n > 0 ? c->note : c->unchanged);
	return n < 0 ? -1 : 0;
}

void request_exec(struct api_request *q, const struct request_change *c)
{
	struct txn *t = &q->api->sup->txn;
	struct err e = {0};

	txn_try_begin(t);
	request_command(q, txn_try_end(t, exec_change(q, c, &e), &e), &e);
}

void list_begin(struct buf *out)
{
	json_begin_object(out);
	json_put_array(out, "items");
}

void list_item(struct buf *out, const struct shape *s, const void *row)
{
	json_add_shape(out, s, row);
}

void list_end(struct buf *out, const char *next)
{
	json_end_array(out);
	json_put_nullable(out, "next", next);
	json_end_object(out);
}
