#include "schema/agent/transcript/history.h"

#include "schema/agent/transcript/event_body.h"

#include <string.h>

#define PAGE_BYTES   (4u << 20)
#define MAX_ANCESTRY 100000 /* of ranges; only a damaged file has so many */

/* Ranges are found from the end to the start; this array collects them. */
struct walk {
	struct agent_file *file;
	struct arena *arena;
	struct segment *list;
	int count;
	int cap;
};

static int push(struct walk *w, int64_t session, int64_t first, int64_t last,
		struct err *e)
{
	if (last < first)
		return 0;
	if (w->count == MAX_ANCESTRY)
		return err_set(e, ERR_CORRUPT,
			       "%s: the ancestry of a session is cyclic",
			       sql_path(w->file->db));
	if (w->count == w->cap) {
		struct segment *more;

		w->cap = w->cap ? w->cap * 2 : 8;
		more = arena_alloc(w->arena, (size_t)w->cap * sizeof *more);
		if (w->count > 0)
			memcpy(more, w->list, (size_t)w->count * sizeof *more);
		w->list = more;
	}
	w->list[w->count++] = (struct segment){session, first, last};
	return 0;
}

static int get_session(struct agent_file *f, int64_t id,
		       struct session_row *row, struct arena *a, struct err *e)
{
	int found = sql_get(f->db, Q_SESSION_BY_ID,
			    &(struct session_by_id_in){id}, row, a, e);

	if (found == 0)
		return err_set(e, ERR_CORRUPT,
			       "%s: the referenced session %lld is missing",
			       sql_path(f->db), (long long)id);
	return found < 0 ? -1 : 0;
}

static int tail_of(struct agent_file *f, const struct session_row *s,
		   int64_t *tail, struct err *e)
{
	struct event_tail_row row;

	if (sql_get(f->db, Q_EVENT_TAIL,
		    &(struct event_tail_in){event_pos(s->id, 0),
					    event_pos(s->id, EVENT_SEQ_MAX)},
		    &row, NULL, e) < 0)
		return -1;
	*tail = row.pos ? event_seq(row.pos) : s->base_seq;
	return 0;
}

/* Finds the ranges of the path within one session, from *end back to where it
 * leaves the session; *end is then a seq of the base, or 0. */
static int walk_path(struct walk *w, const struct session_row *s, int64_t *end,
		     struct err *e)
{
	while (*end > s->base_seq) {
		struct event_last_branch_in in = {
			event_pos(s->id, s->base_seq + 1),
			event_pos(s->id, *end)};
		struct event_last_branch_row jump;
		int found = sql_get(w->file->db, Q_EVENT_LAST_BRANCH, &in,
				    &jump, NULL, e);
		int64_t first = found > 0 ? event_seq(jump.pos)
					  : s->base_seq + 1;

		if (found < 0 || push(w, s->id, first, *end, e))
			return -1;
		*end = found > 0 ? jump.parent : s->base_seq;
	}
	return 0;
}

static int walk_all(struct walk *w, int64_t session, enum history_view view,
		    struct err *e)
{
	struct arena scratch = {0};
	struct session_row s;
	int64_t end = 0;
	int rc = get_session(w->file, session, &s, &scratch, e);

	if (!rc)
		rc = tail_of(w->file, &s, &end, e);
	if (!rc && view != HISTORY_LOG && s.leaf != OPT_NONE)
		end = s.leaf;
	while (!rc && end > 0) {
		int64_t base = s.base;

		if (view == HISTORY_LOG) {
			rc = push(w, s.id, s.base_seq + 1, end, e);
			end = s.base_seq < end ? s.base_seq : end;
		} else {
			rc = walk_path(w, &s, &end, e);
		}
		if (rc || base == OPT_NONE || end == 0)
			break;
		arena_reset(&scratch);
		rc = get_session(w->file, base, &s, &scratch, e);
	}
	arena_fini(&scratch);
	return rc;
}

static void reverse(struct segment *list, int n)
{
	for (int i = 0, k = n - 1; i < k; i++, k--) {
		struct segment swap = list[i];

		list[i] = list[k];
		list[k] = swap;
	}
}

/* Removes the events that the newest compaction on the path replaces. */
static int apply_summary(struct agent_file *f, struct history *h,
			 struct arena *a, struct err *e)
{
	struct compaction_row snap;
	int found = 0;

	for (int i = h->count - 1; i >= 0 && found == 0; i--)
		found = sql_get(
			f->db, Q_COMPACTION_LAST,
			&(struct compaction_last_in){h->segments[i].session,
						     h->segments[i].first,
						     h->segments[i].last},
			&snap, a, e);
	if (found <= 0)
		return found;
	h->summary = snap.summary;
	h->summary_upto = snap.upto;
	while (h->count > 0 && h->segments[0].last <= snap.upto) {
		h->segments++;
		h->count--;
	}
	if (h->count > 0 && h->segments[0].first <= snap.upto)
		h->segments[0].first = snap.upto + 1;
	return 0;
}

int history_load(struct agent_file *f, int64_t session, enum history_view view,
		 struct history *h, struct arena *a, struct err *e)
{
	struct walk w = {.file = f, .arena = a};
	int rc;

	*h = (struct history){0};
	if (sql_enter_read(f->db, e))
		return -1;
	rc = walk_all(&w, session, view, e);
	reverse(w.list, w.count);
	h->segments = w.list;
	h->count = w.count;
	if (!rc && view == HISTORY_MODEL)
		rc = apply_summary(f, h, a, e);
	return sql_leave(f->db, rc, e);
}

int64_t history_last(const struct history *h)
{
	return h->count > 0 ? h->segments[h->count - 1].last : 0;
}

/* The seq before `seq` on this history: its parent, unless a row states another
 * one. */
static int64_t before_on_history(const struct history *h, int i, int64_t seq)
{
	if (seq > h->segments[i].first)
		return seq - 1;
	return i > 0 ? h->segments[i - 1].last : 0;
}

struct reader {
	struct agent_file *file;
	const struct history *history;
	struct page *page;
	struct arena *arena;
	int room;
	size_t bytes;
	int64_t sid_of; /* session of the sid below */
	char sid[ID_SIZE];
};

static int learn_sid(struct reader *r, int64_t session, struct err *e)
{
	struct arena scratch = {0};
	struct session_row s;
	int rc = 0;

	if (r->sid_of == session)
		return 0;
	rc = get_session(r->file, session, &s, &scratch, e);
	if (!rc) {
		memcpy(r->sid, s.sid, ID_SIZE);
		r->sid_of = session;
	}
	arena_fini(&scratch);
	return rc;
}

static void keep_event(struct reader *r, const struct event_record *row,
		       int segment)
{
	struct event *ev = &r->page->events[r->page->count++];
	int64_t seq = event_seq(row->pos);

	*ev = (struct event){
		.session = event_session(row->pos),
		.seq = seq,
		.type = row->unknown_type
				? arena_text(r->arena, row->unknown_type)
				: event_type_name(row->type),
		.id = row->event_id ? arena_text(r->arena, row->event_id)
				    : arena_text(r->arena,
						 event_id_of(r->sid, seq).text),
		.run = arena_text(r->arena, row->run),
		.key = arena_text(r->arena, row->key),
		.body = event_body_read(row->body, r->arena),
		.at = row->at,
		.parent = row->parent != OPT_NONE
				  ? row->parent
				  : before_on_history(r->history, segment, seq),
	};
	r->bytes += strlen(ev->body);
}

/* Reads events first..last of one range into the page, with `query`. */
static int read_segment(struct reader *r, unsigned query, int segment,
			int64_t first, int64_t last, struct err *e)
{
	int64_t session = r->history->segments[segment].session;
	struct event_forward_in in = {event_pos(session, first),
				      event_pos(session, last),
				      r->room - r->page->count + 1};
	struct event_record row;
	struct sql_rows it;

	if (first > last)
		return 0;
	if (learn_sid(r, session, e))
		return -1;
	it = sql_rows(r->file->db, query, &in);
	while (sql_next(&it, &row)) {
		if (r->page->count == r->room || r->bytes > PAGE_BYTES) {
			r->page->more = true;
			break;
		}
		keep_event(r, &row, segment);
	}
	return sql_end(&it, e);
}

static struct reader reader(struct agent_file *f, const struct history *h,
			    int count, struct page *p, struct arena *a)
{
	*p = (struct page){
		.events = arena_alloc(a, (size_t)count * sizeof *p->events)};
	return (struct reader){
		.file = f, .history = h, .page = p, .arena = a, .room = count};
}

int history_forward(struct agent_file *f, const struct history *h,
		    int64_t after, int count, struct page *p, struct arena *a,
		    struct err *e)
{
	struct reader r = reader(f, h, count, p, a);

	for (int i = 0; i < h->count && !p->more; i++) {
		const struct segment *s = &h->segments[i];
		int64_t first = s->first > after ? s->first : after + 1;

		if (read_segment(&r, Q_EVENT_FORWARD, i, first, s->last, e))
			return -1;
	}
	return 0;
}

int history_backward(struct agent_file *f, const struct history *h,
		     int64_t before, int count, struct page *p, struct arena *a,
		     struct err *e)
{
	struct reader r = reader(f, h, count, p, a);

	for (int i = h->count - 1; i >= 0 && !p->more; i--) {
		const struct segment *s = &h->segments[i];
		int64_t last = before > 0 && before <= s->last ? before - 1
							       : s->last;

		if (read_segment(&r, Q_EVENT_BACKWARD, i, s->first, last, e))
			return -1;
	}
	return 0;
}

int history_usage(struct agent_file *f, const struct history *h,
		  struct usage_total *out, struct err *e)
{
	*out = (struct usage_total){0};
	for (int i = 0; i < h->count; i++) {
		const struct segment *s = &h->segments[i];
		struct usage_total t;

		if (sql_get(f->db, Q_USAGE_SUM,
			    &(struct usage_sum_in){
				    event_pos(s->session, s->first),
				    event_pos(s->session, s->last)},
			    &t, NULL, e) < 0)
			return -1;
		out->input += t.input;
		out->output += t.output;
		out->cached += t.cached;
		out->reasoning += t.reasoning;
		out->cost_nano += t.cost_nano;
	}
	return 0;
}
