/* What runs, sessions and the host tell: pages as JSON, or streams. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "schema/session.h"
#include "supervisor/web_routes.h"
#include "supervisor/web_stream.h"

/* --- what is sent ------------------------------------------------------ */

static void add_member(struct buf *b, const char *name, const char *text)
{
	buf_addf(b, ",\"%s\":", name);
	if (text)
		json_add_string(b, text, strlen(text));
	else
		buf_adds(b, "null");
}

static void add_json(struct buf *b, const char *name, const char *json)
{
	buf_addf(b, ",\"%s\":%s", name, json ? json : "null");
}

/* Without its closing brace. */
static void add_event(struct buf *b, const struct event *ev)
{
	buf_addf(b, "{\"seq\":%" PRId64, ev->seq);
	add_member(b, "id", ev->id);
	add_member(b, "type", ev->type);
	add_member(b, "run", ev->run);
	add_member(b, "key", ev->key);
	buf_addf(b, ",\"parent\":%" PRId64 ",\"at\":%" PRId64, ev->parent,
		 ev->at);
	add_json(b, "body", ev->body);
}

static void add_part(struct buf *b, const struct tail_item *item)
{
	const struct tail_part *p = item->part;

	buf_addf(b, "{\"seq\":%" PRId64 ",\"idx\":%" PRId64, item->seq, p->idx);
	add_member(b, "kind", p->kind);
	add_member(b, "state", p->state);
	if (item->is_new || item->has_values) {
		add_member(b, "name", p->name);
		add_member(b, "call_id", p->call_id);
		add_json(b, "input", p->input);
		add_json(b, "output", p->output);
		add_json(b, "meta", p->meta);
	}
	buf_addf(b, ",\"rev\":%" PRId64 ",\"at\":%" PRId64, p->rev, item->at);
	add_member(b, "text", p->text);
	buf_addc(b, '}');
}

/* The state of the run, or of a session that has none, if it changed. */
static void tell_status(struct follower *f, const struct run_row *row)
{
	struct buf b = BUF_MAX(16384);
	struct sup_live live = {0};

	buf_addf(&b, "{\"state\":\"%s\"", row ? row->state : "idle");
	if (row) {
		add_member(&b, "run", row->id);
		buf_addf(&b, ",\"attempt\":%" PRId64, row->attempt);
		add_member(&b, "reason", row->reason);
		add_member(&b, "detail", row->detail);
		if (sup_live_get(f->web->sup, row->id, &live))
			add_member(&b, "phase", live.phase);
	}
	buf_addc(&b, '}');
	if (strncmp(b.p, f->told, sizeof f->told - 1) != 0)
		follower_send(f, NULL, "status", &b);
	snprintf(f->told, sizeof f->told, "%s", b.p);
	buf_fini(&b);
}

static int send_item(void *arg, const struct tail *t,
		     const struct tail_item *item)
{
	struct follower *f = arg;
	struct buf data = BUF_MAX(128u << 20), id = BUF_MAX(1 << 20);

	tail_cursor(t, &id);
	if (item->event) {
		add_event(&data, item->event);
		buf_addc(&data, '}');
	} else {
		add_part(&data, item);
	}
	follower_send(f, id.p, item->event ? "event" : "part", &data);
	buf_fini(&data);
	buf_fini(&id);
	return !follower_has_room(f);
}

/* All that is there while the client takes it. 0: all was sent; 1: not. */
static int send_rows(struct follower *f, struct err *e)
{
	struct agent_file *file;
	int rc = agent_files_get(&f->web->files, sup_db(f->web->sup), f->agent,
				 &file, e);

	while (rc > 0 && follower_has_room(f))
		rc = tail_read(f->tail, file, send_item, f, e);
	return rc;
}

/* --- a run, a session -------------------------------------------------- */

static void tell_end(struct follower *f)
{
	struct buf b = BUF_MAX(512);

	buf_adds(&b, f->told);
	follower_send(f, NULL, "end", &b);
	buf_fini(&b);
}

/* The state is read before the rows: a run that is over has written all. */
static int look_at_run(struct follower *f, struct err *e)
{
	struct arena a = {0};
	struct run_row row;
	int found = follower_run(f, &row, &a, e);
	bool over = found > 0 &&
		    run_state_is_over(
			    (enum run_state)run_state_from(row.state));
	int rc = found < 0 ? -1 : 0;

	if (found > 0)
		tell_status(f, &row);
	if (!rc)
		rc = send_rows(f, e);
	if (over && rc == 0)
		tell_end(f);
	arena_fini(&a);
	return rc < 0 ? -1 : over && rc == 0;
}

static int look_at_session(struct follower *f, struct err *e)
{
	struct arena a = {0};
	struct run_row row;
	int found = follower_run(f, &row, &a, e);
	int rc = found < 0 ? -1 : 0;
	bool done;

	if (!rc)
		tell_status(f, found > 0 ? &row : NULL);
	if (!rc)
		rc = send_rows(f, e);
	done = f->until_idle && found == 0 && rc == 0;
	if (done)
		tell_end(f);
	arena_fini(&a);
	return rc < 0 ? -1 : done;
}

static const struct follower_ops run_ops = {look_at_run, NULL};
static const struct follower_ops session_ops = {look_at_session, NULL};

/* A page of JSON: events, each with its parts. */
struct pager {
	struct buf *out;
	int64_t left;
	int64_t last;
	bool open; /* an event whose parts follow */
	bool parts;
};

static void close_event(struct pager *p)
{
	if (p->open)
		buf_adds(p->out, p->parts ? "]}" : "}");
	p->open = p->parts = false;
}

static int page_item(void *arg, const struct tail *t,
		     const struct tail_item *item)
{
	struct pager *p = arg;

	(void)t;
	if (item->event) {
		if (p->left == 0)
			return 1;
		close_event(p);
		if (p->out->p[p->out->n - 1] != '[')
			buf_addc(p->out, ',');
		add_event(p->out, item->event);
		p->open = true;
		p->last = item->seq;
		p->left--;
	} else if (p->open && item->seq == p->last) {
		buf_adds(p->out, p->parts ? "," : ",\"parts\":[");
		p->parts = true;
		add_part(p->out, item);
	}
	return 0;
}

static int read_page(struct ask *q, struct tail *t, struct buf *out,
		     struct err *e)
{
	struct pager p = {.out = out, .left = q->limit};
	struct agent_file *file;
	char next[24];
	int rc = agent_files_get(&q->web->files, sup_db(q->web->sup),
				 q->filter[0], &file, e);

	list_begin(out);
	while (rc > 0 && p.left > 0)
		rc = tail_read(t, file, page_item, &p, e);
	close_event(&p);
	snprintf(next, sizeof next, "%" PRId64, p.last);
	list_end(out, p.left == 0 ? next : NULL);
	return rc < 0 ? -1 : 0;
}

/* Page or stream of the session q->key of agent q->filter[0], only the run
 * q->id if it is set. */
static int give_tail(struct ask *q, const struct follower_ops *ops,
		     struct buf *out, struct err *e)
{
	struct tail_want want = {q->key, q->id, q->from};
	struct follower *f;
	struct tail *t;
	int rc;

	if (tail_open(&t, &want, e))
		return -1;
	if (!q->flag) {
		rc = read_page(q, t, out, e);
		tail_close(t);
		return rc;
	}
	f = follower_new(q, ops, q->id);
	f->tail = t;
	f->agent = strdup(q->filter[0]);
	f->session = q->id ? NULL : strdup(q->key);
	f->until_idle = q->filter[1] != NULL;
	return 0;
}

static int give_run_events(struct ask *q, struct buf *out, struct err *e)
{
	struct run_row row;
	int found = sql_get(sup_db(q->web->sup), Q_RUN_GET,
			    &(struct run_get_in){q->id}, &row, &q->arena, e);

	if (found == 0)
		return err_set(e, ERR_NOTFOUND, "there is no run %s",
			       quoted(q->id).text);
	q->filter[0] = row.agent;
	q->key = row.session;
	return found < 0 ? -1 : give_tail(q, &run_ops, out, e);
}

/* There is such a session, or a run that will make it. */
static int need_session(struct ask *q, struct err *e)
{
	struct run_line_state_row line = {0};
	struct session_row row;
	struct agent_file *file;
	struct sql *db = sup_db(q->web->sup);
	int found = agent_files_get(&q->web->files, db, q->filter[0], &file, e);

	if (found > 0)
		found = session_get(file, q->key, &row, &q->arena, e);
	if (found > 0 && row.key)
		q->key = row.key;
	if (found)
		return found < 0 ? -1 : 0;
	if (sql_get(db, Q_RUN_LINE_STATE,
		    &(struct run_line_state_in){q->filter[0], q->key}, &line,
		    &q->arena, e) < 0)
		return -1;
	if (line.waiting == 0)
		return err_set(e, ERR_NOTFOUND, "agent %s has no session %s",
			       quoted(q->filter[0]).text, quoted(q->key).text);
	return 0;
}

static int give_session_events(struct ask *q, struct buf *out, struct err *e)
{
	return need_session(q, e) ? -1 : give_tail(q, &session_ops, out, e);
}

void route_run_events(void *app, const struct http_request *r,
		      struct http_reply *reply)
{
	struct ask *q = ask_reader(app, r, reply);

	if (!q)
		return;
	q->id = ask_param(q, r, "id");
	ask_read(q, give_run_events);
}

void route_session_events(void *app, const struct http_request *r,
			  struct http_reply *reply)
{
	struct ask *q = ask_reader(app, r, reply);

	if (!q)
		return;
	q->filter[0] = ask_param(q, r, "agent");
	q->key = ask_param(q, r, "key");
	q->filter[1] = ask_query(q, r, "until");
	ask_read(q, give_session_events);
}
