#include "schema/agent/transcript/exchange.h"

#include "lib/json/json.h"
#include "schema/agent/transcript/part.h"
#include "schema/agent/transcript/session.h"

#include <inttypes.h>
#include <string.h>

#define PAGE_EVENTS 256

/* A member that is JSON, without white space: an import gives the same lines. */
static int add_json_member(struct agent_file *f, const char *name,
			   const char *text, struct buf *b, struct err *e)
{
	struct buf valid = BUF_MAX(EXCHANGE_LINE_MAX);
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
			buf_addf(b, ",\"%s\":%s", name, row.text);
		rc = sql_end(&it, e);
	}
	buf_fini(&valid);
	return rc;
}

static int session_line(struct agent_file *f, const struct session_row *s,
			struct buf *b, struct err *e)
{
	buf_adds(b, "{\"record\":\"session\",\"version\":1");
	json_add_member(b, "agent", f->agent);
	json_add_member(b, "id", s->sid);
	json_add_member(b, "key", s->key);
	json_add_member(b, "kind", s->kind);
	json_add_member(b, "status", s->status);
	json_add_member(b, "title", s->title);
	json_add_member(b, "model", s->model);
	json_add_member(b, "source", s->source);
	json_add_member(b, "parent", s->parent);
	if (s->leaf != OPT_NONE)
		buf_addf(b, ",\"leaf\":%" PRId64, s->leaf);
	buf_addf(b, ",\"created_at\":%" PRId64, s->created_at);
	if (add_json_member(f, "meta", s->meta, b, e))
		return -1;
	buf_addc(b, '}');
	return buf_ok(b, "an exported session", e);
}

static int add_usage(struct agent_file *f, int64_t pos, struct buf *b,
		     struct arena *a, struct err *e)
{
	struct usage_row u;
	int found = sql_get(f->db, Q_USAGE_GET, &(struct usage_get_in){pos}, &u,
			    a, e);

	if (found > 0) {
		buf_adds(b, ",\"usage\":");
		json_add_shape(b, &usage_row_shape, &u);
	}
	return found < 0 ? -1 : 0;
}

static int export_part(struct agent_file *f, const struct part_row *p,
		       struct buf *b, struct err *e)
{
	buf_addf(b, "{\"kind\":\"%s\",\"state\":\"%s\"", p->kind, p->state);
	json_add_member(b, "name", p->name);
	json_add_member(b, "call_id", p->call_id);
	json_add_member(b, "text", p->text);
	if (add_json_member(f, "input", p->input, b, e) ||
	    add_json_member(f, "output", p->output, b, e) ||
	    add_json_member(f, "meta", p->meta, b, e))
		return -1;
	buf_addc(b, '}');
	return 0;
}

static int add_parts(struct agent_file *f, int64_t pos, struct buf *b,
		     struct arena *a, struct err *e)
{
	struct part_row *rows;
	int n = part_read(f, pos, &rows, a, e);

	if (n < 0)
		return -1;
	for (int i = 0; i < n; i++) {
		buf_adds(b, i ? "," : ",\"parts\":[");
		if (export_part(f, &rows[i], b, e))
			return -1;
	}
	if (n > 0)
		buf_addc(b, ']');
	return 0;
}

static int event_line(struct agent_file *f, const struct event *ev,
		      struct buf *b, struct arena *a, struct err *e)
{
	int64_t pos = event_pos(ev->session, ev->seq);

	buf_addf(b, "{\"record\":\"event\",\"seq\":%" PRId64, ev->seq);
	json_add_member(b, "id", ev->id);
	buf_addf(b, ",\"parent\":%" PRId64, ev->parent);
	json_add_member(b, "type", ev->type);
	buf_addf(b, ",\"at\":%" PRId64, ev->at);
	json_add_member(b, "run", ev->run);
	json_add_member(b, "key", ev->key);
	if (add_json_member(f, "body", ev->body, b, e) ||
	    add_usage(f, pos, b, a, e) || add_parts(f, pos, b, a, e))
		return -1;
	buf_addc(b, '}');
	return buf_ok(b, "an exported event", e);
}

static int export_events(struct agent_file *f, const struct history *h,
			 exchange_line *line, void *ctx, struct err *e)
{
	struct buf b = BUF_MAX(EXCHANGE_LINE_MAX);
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

int exchange_export(struct agent_file *f, const char *key,
		    enum history_view view, exchange_line *line, void *ctx,
		    struct err *e)
{
	struct buf b = BUF_MAX(EXCHANGE_LINE_MAX);
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
