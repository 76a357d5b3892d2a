#include "schema/agent/transcript/session_jsonl.h"

#include "lib/json/json.h"
#include "schema/agent/transcript/part.h"
#include "schema/agent/transcript/session.h"

#define PAGE_EVENTS 256

/* A member that is JSON, without white space, so that a later import gives the
 * same lines. */
static int add_json_member(struct agent_file *f, const char *name,
			   const char *text, struct buf *b, struct err *e)
{
	struct buf valid = BUF_MAX(SESSION_LINE_MAX);
	struct json_compact_row row;
	struct sql_rows it;
	int rc;

	if (!text)
		return 0;
	json_add_stored(&valid, text);
	rc = buf_ok(&valid, name, e);
	if (!rc) {
		it = sql_rows(f->db, Q_JSON_COMPACT,
			      &(struct json_compact_in){valid.p});
		if (sql_next(&it, &row))
			json_put_raw(b, name, row.text);
		rc = sql_end(&it, e);
	}
	buf_fini(&valid);
	return rc;
}

static int session_line(struct agent_file *f, const struct session_row *s,
			struct buf *b, struct err *e)
{
	json_begin_object(b);
	json_put_text(b, "record", "session");
	json_put_int(b, "version", 1);
	json_put_text(b, "agent", f->agent);
	json_put_text(b, "id", s->sid);
	json_put_text(b, "key", s->key);
	json_put_text(b, "kind", s->kind);
	json_put_text(b, "status", s->status);
	json_put_text(b, "title", s->title);
	json_put_text(b, "model", s->model);
	json_put_text(b, "source", s->source);
	json_put_text(b, "parent", s->parent);
	json_put_opt(b, "leaf", s->leaf);
	json_put_int(b, "created_at", s->created_at);
	if (add_json_member(f, "meta", s->meta, b, e))
		return -1;
	json_end_object(b);
	return buf_ok(b, "an exported session", e);
}

static int add_usage(struct agent_file *f, int64_t pos, struct buf *b,
		     struct arena *a, struct err *e)
{
	struct usage_row u;
	int found = sql_get(f->db, Q_USAGE_GET, &(struct usage_get_in){pos}, &u,
			    a, e);

	if (found > 0) {
		json_key(b, "usage");
		json_add_shape(b, &usage_row_shape, &u);
	}
	return found < 0 ? -1 : 0;
}

static int export_part(struct agent_file *f, const struct part_row *p,
		       struct buf *b, struct err *e)
{
	json_begin_object(b);
	json_put_text(b, "kind", p->kind);
	json_put_text(b, "state", p->state);
	json_put_text(b, "name", p->name);
	json_put_text(b, "call_id", p->call_id);
	json_put_text(b, "text", p->text);
	if (add_json_member(f, "input", p->input, b, e) ||
	    add_json_member(f, "output", p->output, b, e) ||
	    add_json_member(f, "meta", p->meta, b, e))
		return -1;
	json_end_object(b);
	return 0;
}

static int add_parts(struct agent_file *f, int64_t pos, struct buf *b,
		     struct arena *a, struct err *e)
{
	struct part_row *rows;
	int n = part_read(f, pos, &rows, a, e);

	if (n <= 0)
		return n;
	json_put_array(b, "parts");
	for (int i = 0; i < n; i++)
		if (export_part(f, &rows[i], b, e))
			return -1;
	json_end_array(b);
	return 0;
}

static int event_line(struct agent_file *f, const struct event *ev,
		      struct buf *b, struct arena *a, struct err *e)
{
	int64_t pos = event_pos(ev->session, ev->seq);

	json_begin_object(b);
	json_put_text(b, "record", "event");
	json_put_int(b, "seq", ev->seq);
	json_put_text(b, "id", ev->id);
	json_put_int(b, "parent", ev->parent);
	json_put_text(b, "type", ev->type);
	json_put_int(b, "at", ev->at);
	json_put_text(b, "run", ev->run);
	json_put_text(b, "key", ev->key);
	if (add_json_member(f, "body", ev->body, b, e) ||
	    add_usage(f, pos, b, a, e) || add_parts(f, pos, b, a, e))
		return -1;
	json_end_object(b);
	return buf_ok(b, "an exported event", e);
}

static int export_events(struct agent_file *f, const struct history *h,
			 session_line_sink *line, void *ctx, struct err *e)
{
	struct buf b = BUF_MAX(SESSION_LINE_MAX);
	struct arena a = {0};
	struct page p = {.more = true};
	int64_t after = 0;
	int rc = 0;

	while (!rc && p.more) {
		arena_reset(&a);
		rc = history_forward(f, h, after, PAGE_EVENTS, &p, &a, e);
		for (int i = 0; !rc && i < p.count; i++) {
			buf_clear(&b);
			rc = event_line(f, &p.events[i], &b, &a, e);
			if (!rc)
				rc = line(b.p, b.n, ctx, e);
			after = p.events[i].seq;
		}
	}
	arena_fini(&a);
	buf_fini(&b);
	return rc;
}

int session_export_lines(struct agent_file *f, const char *key,
			 enum history_view view, session_line_sink *line,
			 void *ctx, struct err *e)
{
	struct buf b = BUF_MAX(SESSION_LINE_MAX);
	struct session_row s;
	struct history h;
	struct arena a = {0};
	int rc = session_need(f, key, &s, &a, e);

	if (!rc)
		rc = history_load(f, s.id, view, &h, &a, e);
	if (!rc) {
		rc = session_line(f, &s, &b, e) || line(b.p, b.n, ctx, e)
			     ? -1
			     : export_events(f, &h, line, ctx, e);
	}
	buf_fini(&b);
	arena_fini(&a);
	return rc;
}
