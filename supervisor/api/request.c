#include "supervisor/api/request.h"

#include "lib/base/clock.h"
#include "schema/control/cursor.h"

#include <stdlib.h>
#include <string.h>

struct ask *ask_new(struct web *w, const struct http_request *r,
		    struct http_reply *reply)
{
	struct ask *q = calloc(1, sizeof *q);

	if (!q)
		abort();
	q->web = w;
	q->reply = reply;
	q->db = supervisor_db(w->sup);
	q->by = arena_printf(&q->arena, "http:%s", http_subject(r)->name);
	return q;
}

void ask_free(struct ask *q)
{
	arena_fini(&q->arena);
	free(q);
}

const char *ask_param(struct ask *q, const struct http_request *r,
		      const char *name)
{
	return arena_text(&q->arena, http_param(r, name));
}

const char *ask_query(struct ask *q, const struct http_request *r,
		      const char *name)
{
	const char *value = http_query(r, name);

	return value && *value ? arena_text(&q->arena, value) : NULL;
}

int ask_limit(struct ask *q, const struct http_request *r)
{
	struct err e = {0};

	q->limit = 100;
	if (http_query_i64(r, "limit", (int64_t[]){1, 1000}, &q->limit, &e)) {
		ask_fail(q, &e);
		return -1;
	}
	return 0;
}

int ask_before(struct ask *q, const struct http_request *r, enum id_kind kind)
{
	struct err e = {0};

	if (page_before(kind, ask_query(q, r, "before"), &q->from, &e)) {
		ask_fail(q, &e);
		return -1;
	}
	return 0;
}

/* An EventSource says so in Accept; with curl it is easier in the query. */
static bool wants_stream(const struct http_request *r)
{
	const char *accept = http_header(r, "Accept");

	return http_query_flag(r, "stream") ||
	       (accept && strstr(accept, "text/event-stream"));
}

struct ask *ask_reader(struct web *w, const struct http_request *r,
		       struct http_reply *reply)
{
	struct ask *q = ask_new(w, r, reply);
	const char *last = http_header(r, "Last-Event-ID");

	if (ask_limit(q, r))
		return NULL;
	q->flag = wants_stream(r);
	q->from = last ? arena_text(&q->arena, last) : ask_query(q, r, "after");
	return q;
}

void ask_fail(struct ask *q, const struct err *e)
{
	if (q->reply)
		http_reply_error(q->reply, e);
	ask_free(q);
}

void ask_answer(struct ask *q, int rc, struct buf *out, struct err *e)
{
	if (rc || buf_ok(out, "the answer", e)) {
		ask_fail(q, e);
		return;
	}
	if (q->reply)
		http_reply_json(q->reply, q->status ? q->status : 200, out->p,
				out->n);
	ask_free(q);
}

/* Reads and answers; in a time at which what is read is committed. */
static void answer(struct ask *q)
{
	const char *route = q->reply ? http_reply_route(q->reply) : NULL;
	struct http_server *server = q->web->server;
	struct buf out = BUF_MAX(ASK_ANSWER_MAX);
	int64_t since = clock_cpu_ns();
	struct err e = {0};
	int rc = q->read(q, &out, &e);

	ask_answer(q, rc, &out, &e);
	buf_fini(&out);
	if (route)
		http_server_spent(server, route, clock_cpu_ns() - since);
}

static void on_turn(void *arg, const struct err *failed)
{
	struct ask *q = arg;

	if (failed)
		ask_fail(q, failed);
	else
		answer(q);
}

void ask_read(struct ask *q,
	      int (*read)(struct ask *q, struct buf *out, struct err *e))
{
	q->read = read;
	supervisor_after(q->web->sup, on_turn, q);
}

static void on_done(void *arg, const struct command_result *r)
{
	struct ask *q = arg;
	struct buf out = BUF_MAX(8192);

	if (r->failed) {
		ask_fail(q, r->failed);
		return;
	}
	if (q->read) {
		q->id = arena_text(&q->arena, r->id.text);
		if (q->status == 201 && !r->changed)
			q->status = 200; /* it was there already */
		answer(q);
		return;
	}
	buf_adds(&out, "{\"id\":");
	json_add_string(&out, r->id.text, strlen(r->id.text));
	buf_addf(&out,
		 ",\"changed\":%s,\"note\":", r->changed ? "true" : "false");
	if (r->note)
		json_add_string(&out, r->note, strlen(r->note));
	else
		buf_adds(&out, "null");
	buf_addc(&out, '}');
	http_reply_json(q->reply, 200, out.p, out.n);
	buf_fini(&out);
	ask_free(q);
}

struct completion ask_done(struct ask *q)
{
	return (struct completion){on_done, q};
}

void ask_verb(struct ask *q, int rc, const struct err *e)
{
	if (rc)
		ask_fail(q, e);
}

void list_begin(struct buf *out)
{
	buf_adds(out, "{\"items\":[");
}

void list_item(struct buf *out, const struct shape *s, const void *row)
{
	if (out->n && out->p[out->n - 1] != '[')
		buf_addc(out, ',');
	json_add_shape(out, s, row);
}

void list_end(struct buf *out, const char *next)
{
	buf_adds(out, "],\"next\":");
	if (next)
		json_add_string(out, next, strlen(next));
	else
		buf_adds(out, "null");
	buf_addc(out, '}');
}
