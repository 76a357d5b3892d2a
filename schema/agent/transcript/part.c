#include "schema/agent/transcript/part.h"

#include "lib/base/clock.h"
#include "lib/json/json.h"
#include "schema/vocab.h"

#include <inttypes.h>
#include <string.h>

static int insert(struct part *p, const struct part_new *n, struct err *e)
{
	struct sql *db = p->writer->file->db;
	struct part_next_idx_row next;
	struct part_insert_in in = {
		.pos = p->pos,
		.kind = n->kind,
		.state = n->state ? n->state : "streaming",
		.name = n->name,
		.call_id = n->call_id,
		.text = n->text ? n->text : "",
		.input = n->input,
		.output = n->output,
		.meta = n->meta ? n->meta : "{}",
		.now = clock_now(),
	};

	if (vocab_check("part.kind", in.kind, e) ||
	    vocab_check("part.state", in.state, e) ||
	    writer_check(p->writer, e) ||
	    sql_get(db, Q_PART_NEXT_IDX, &(struct part_next_idx_in){p->pos},
		    &next, NULL, e) < 0)
		return -1;
	in.idx = p->idx = next.idx;
	return sql_exec(db, Q_PART_INSERT, &in, e) < 0 ? -1 : 0;
}

int part_open(struct part *p, struct writer *w, int64_t pos,
	      const struct part_new *n, struct err *e)
{
	struct sql *db = w->file->db;

	*p = (struct part){.writer = w,
			   .pos = pos,
			   .pending = BUF_MAX(PART_TEXT_MAX),
			   .acked = n->text ? (int64_t)strlen(n->text) : 0};
	if (sql_enter_relaxed(db, e))
		return -1;
	return sql_leave(db, insert(p, n, e), e);
}

static int part_closed(struct err *e)
{
	return err_set(e, ERR_CONFLICT,
		       "the part is complete and cannot be changed");
}

static int grow(struct part *p, struct err *e)
{
	struct part_grow_in in = {p->pos, p->idx, p->pending.p, clock_now()};
	struct part_chunk_add_in chunk = {in.pos, in.idx, in.chunk, in.now};
	struct sql *db = p->writer->file->db;
	bool fits = p->acked + (int64_t)p->pending.n <= PART_ROW_BYTES;
	int n;

	if (p->pending.n == 0)
		return 0;
	n = fits ? sql_exec(db, Q_PART_GROW, &in, e)
		 : sql_exec(db, Q_PART_CHUNK_ADD, &chunk, e);
	return n < 0 ? -1 : n == 0 ? part_closed(e) : 0;
}

static int grow_checked(struct part *p, struct err *e)
{
	return writer_check(p->writer, e) ? -1 : grow(p, e);
}

static void ack_pending(struct part *p)
{
	p->acked += (int64_t)p->pending.n;
	buf_clear(&p->pending);
}

int part_flush(struct part *p, struct err *e)
{
	struct sql *db = p->writer->file->db;

	if (p->pending.n == 0)
		return 0;
	if (sql_enter_relaxed(db, e) || sql_leave(db, grow_checked(p, e), e))
		return -1;
	ack_pending(p);
	return 0;
}

int64_t part_due_ns(const struct part *p)
{
	return p->pending.n == 0
		       ? 0
		       : p->pending_since + PART_FLUSH_MS * INT64_C(1000000);
}

/* A fast and long stream is committed in larger pieces. */
static size_t flush_bytes(const struct part *p)
{
	size_t n = (size_t)p->acked / 8;

	return n < PART_FLUSH_BYTES ? PART_FLUSH_BYTES
	       : n > PART_FLUSH_MAX ? PART_FLUSH_MAX
				    : n;
}

int part_add(struct part *p, const char *text, size_t n, struct err *e)
{
	if (memchr(text, 0, n))
		return err_set(e, ERR_INVALID, "a NUL byte in streamed text");
	if (p->acked + (int64_t)(p->pending.n + n) > PART_TEXT_MAX)
		return err_set(e, ERR_TOOBIG, "a part is larger than %u bytes",
			       PART_TEXT_MAX);
	if (p->pending.n == 0)
		p->pending_since = clock_mono_ns();
	buf_add(&p->pending, text, n);
	if (p->pending.n < flush_bytes(p) && clock_mono_ns() < part_due_ns(p))
		return 0;
	return part_flush(p, e) ? -1 : 1;
}

static int change_part(struct part *p, const struct part_change_new *c,
		       struct err *e)
{
	struct part_set_in in = {.pos = p->pos,
				 .idx = p->idx,
				 .kind = c->kind,
				 .state = c->state,
				 .input = c->input,
				 .output = c->output,
				 .meta = c->meta,
				 .now = clock_now()};
	int n;

	if ((c->kind && vocab_check("part.kind", c->kind, e)) ||
	    (c->state && vocab_check("part.state", c->state, e)) ||
	    grow_checked(p, e))
		return -1;
	n = sql_exec(p->writer->file->db, Q_PART_SET, &in, e);
	return n < 0 ? -1 : n == 0 ? part_closed(e) : 0;
}

int part_set(struct part *p, const struct part_change_new *c, struct err *e)
{
	struct sql *db = p->writer->file->db;

	if (sql_enter_relaxed(db, e) || sql_leave(db, change_part(p, c, e), e))
		return -1;
	ack_pending(p);
	return 0;
}

void part_close(struct part *p)
{
	buf_fini(&p->pending);
}

int part_read(struct agent_file *f, int64_t pos, struct part_row **rows,
	      struct arena *a, struct err *e)
{
	return sql_collect(f->db, Q_PART_LIST, &(struct part_list_in){pos},
			   100000, rows, a, e);
}

static int abort_parts(struct writer *w, unsigned query, const char *reason,
		       struct err *e)
{
	int64_t lo = event_pos(w->session, 0);
	int64_t hi = event_pos(w->session, EVENT_SEQ_MAX);
	struct part_abort_open_in open = {lo, hi, reason, clock_now()};
	struct part_abort_awaiting_in awaiting = {lo, hi, reason, open.now};
	int n;

	if (sql_enter(w->file->db, e))
		return -1;
	n = writer_check(w, e);
	if (n == 0)
		n = query == Q_PART_ABORT_OPEN
			    ? sql_exec(w->file->db, query, &open, e)
			    : sql_exec(w->file->db, query, &awaiting, e);
	return sql_leave(w->file->db, n < 0 ? -1 : 0, e) ? -1 : n;
}

int part_abort_open(struct writer *w, const char *reason, struct err *e)
{
	return abort_parts(w, Q_PART_ABORT_OPEN, reason, e);
}

int part_abort_awaiting(struct writer *w, const char *reason, struct err *e)
{
	return abort_parts(w, Q_PART_ABORT_AWAITING, reason, e);
}

int part_abort_rest(struct writer *w, int64_t first, const char *reason,
		    struct err *e)
{
	int64_t lo = event_pos(w->session, first);
	int64_t hi = event_pos(w->session, EVENT_SEQ_MAX);
	struct part_abort_open_in open = {lo, hi, reason, clock_now()};
	struct part_abort_awaiting_in awaiting = {lo, hi, reason, open.now};
	struct sql *db = w->file->db;
	int rc;

	if (sql_enter(db, e))
		return -1;
	rc = writer_check(w, e);
	if (rc == 0 && (sql_exec(db, Q_PART_ABORT_OPEN, &open, e) < 0 ||
			sql_exec(db, Q_PART_ABORT_AWAITING, &awaiting, e) < 0))
		rc = -1;
	return sql_leave(db, rc, e);
}

/* The states of a tool call as names of the AI SDK. */
static const char *ui_tool_state(const char *state)
{
	static const struct {
		const char *ours;
		const char *theirs;
	} words[] = {
		{"streaming", "input-streaming"},
		{"input", "input-available"},
		{"running", "input-available"},
		{"awaiting", "input-available"},
		{"done", "output-available"},
		{"error", "output-error"},
		{"aborted", "output-error"},
	};

	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		if (!strcmp(words[i].ours, state))
			return words[i].theirs;
	return "input-available";
}

static void add_tool(const struct part_row *r, struct buf *out)
{
	const char *state = ui_tool_state(r->state);
	char place[48]; /* the same id as in its stream */

	snprintf(place, sizeof place, "%" PRId64 "-%" PRId64, event_seq(r->pos),
		 r->idx);
	json_begin_object(out);
	json_put_text(out, "type", "dynamic-tool");
	json_put_text(out, "toolName", r->name ? r->name : "tool");
	json_put_text(out, "toolCallId", r->call_id ? r->call_id : place);
	json_put_text(out, "state", state);
	json_put_stored(out, "input", r->input ? r->input : "{}");
	if (!strcmp(state, "output-available"))
		json_put_stored(out, "output", r->output ? r->output : "null");
	if (!strcmp(state, "output-error"))
		json_put_text(out, "errorText",
			      r->output ? r->output : r->state);
	json_end_object(out);
}

static void add_text_part(const struct part_row *r, struct buf *out)
{
	json_begin_object(out);
	json_put_text(out, "type", r->kind);
	json_put_text(out, "text", r->text);
	json_put_text(out, "state",
		      !strcmp(r->state, "streaming") ? "streaming" : "done");
	json_end_object(out);
}

/* A member of the part's meta as text, or `other`. */
static void add_meta_text(const cJSON *meta, struct buf *out,
			  const char *member, const char *from,
			  const char *other)
{
	json_put_text(out, member, json_text(meta, from, other));
}

static void add_file_part(const struct part_row *r, struct buf *out)
{
	cJSON *meta = cJSON_Parse(r->meta);

	json_begin_object(out);
	json_put_text(out, "type", "file");
	add_meta_text(meta, out, "mediaType", "mediaType",
		      "application/octet-stream");
	add_meta_text(meta, out, "url", "url", r->text);
	json_put_text(out, "filename", r->name);
	json_end_object(out);
	cJSON_Delete(meta);
}

static void add_data(const struct part_row *r, struct buf *out)
{
	struct buf type = BUF_MAX(4096);

	buf_addf(&type, "data-%s", r->name ? r->name : "value");
	json_begin_object(out);
	json_put_text(out, "type", type.p);
	json_put_stored(out, "data", r->output ? r->output : "null");
	json_end_object(out);
	buf_fini(&type);
}

static void add_part_json(const struct part_row *r, struct buf *out)
{
	if (!strcmp(r->kind, "tool")) {
		add_tool(r, out);
	} else if (!strcmp(r->kind, "file")) {
		add_file_part(r, out);
	} else if (!strcmp(r->kind, "data")) {
		add_data(r, out);
	} else {
		add_text_part(r, out);
	}
}

void part_ui_json(const struct part_row *rows, int n, struct buf *out)
{
	for (int i = 0; i < n; i++)
		add_part_json(&rows[i], out);
}
