/* Updates the full-text index from the transcripts; search.c queries it. */
#include "schema/agent/search/search.h"

#include "lib/db/fts.h"
#include "schema/agent/search/search_text.h"
#include "schema/agent/transcript/event.h"

#include <string.h>

#define TEXT_MAX     ((size_t)4 << 20) /* of one event */
#define BATCH_EVENTS 1024              /* per transaction */
#define STEP_EVENTS  256               /* for a run that may have to continue */
#define BATCH_BYTES  ((size_t)1 << 20)

struct update {
	struct sql *db;
	int64_t lo, hi; /* sessions */
	int batch;      /* events per transaction */
	int64_t open;   /* pos of the last growing event that was examined */
	struct buf text;
	const struct index_watch *watch;
	int looked_at;
	struct fts_build build;
};

/* --- one event -------------------------------------------------------- */

static int add_parts(struct update *u, int64_t pos, struct err *e)
{
	struct search_parts_in in = {pos};
	struct search_parts_row row;
	struct sql_rows it = sql_rows(u->db, Q_SEARCH_PARTS, &in);

	while (sql_next(&it, &row)) {
		search_text_plain(row.name, &u->text);
		search_text_plain(row.text, &u->text);
		search_text_json(row.input, true, &u->text);
		search_text_json(row.output, true, &u->text);
	}
	return sql_end(&it, e);
}

/* Returns 1 if the index already contains exactly this text, else 0. */
static int has_text(struct update *u, int64_t pos, struct err *e)
{
	struct search_text_get_in in = {pos};
	struct search_text_get_row row;
	struct sql_rows it = sql_rows(u->db, Q_SEARCH_TEXT_GET, &in);
	bool same = sql_next(&it, &row) ? strcmp(row.text, u->text.p) == 0
					: u->text.n == 0;

	return sql_end(&it, e) ? -1 : same;
}

/* body NULL: the event was deleted. */
static int index_event(struct update *u, int64_t pos, const char *body,
		       struct err *e)
{
	int same;

	buf_clear(&u->text);
	u->looked_at++;
	if (body) {
		search_text_json(body, false, &u->text);
		if (add_parts(u, pos, e))
			return -1;
	}
	same = has_text(u, pos, e);
	if (same != 0)
		return same < 0 ? -1 : 0;
	if (u->text.n == 0)
		return sql_exec(u->db, Q_SEARCH_TEXT_DROP,
				&(struct search_text_drop_in){pos}, e) < 0
			       ? -1
			       : 0;
	return sql_exec(u->db, Q_SEARCH_TEXT_PUT,
			&(struct search_text_put_in){pos, u->text.p}, e) < 0
		       ? -1
		       : 0;
}

static int reindex(struct update *u, int64_t pos, struct err *e)
{
	struct search_event_in in = {pos};
	struct search_event_row row;
	struct sql_rows it = sql_rows(u->db, Q_SEARCH_EVENT, &in);
	bool found = sql_next(&it, &row);
	int rc = index_event(u, pos, found ? row.body : NULL, e);

	if (!rc && !found &&
	    sql_exec(u->db, Q_SEARCH_WATERMARK_LOWER,
		     &(struct search_watermark_lower_in){event_session(pos)},
		     e) < 0)
		rc = -1;
	return sql_end(&it, rc ? &(struct err){0} : e) ? -1 : rc;
}

/* --- steps: each does one batch, and says how much; 0 is the end ------- */

static int redo_dirty(struct update *u, struct err *e)
{
	struct search_dirty_list_in in = {
		event_pos(u->lo, 0), event_pos(u->hi, EVENT_SEQ_MAX), u->batch};
	struct search_dirty_list_row *rows;
	struct arena a = {0};
	int n = sql_collect(u->db, Q_SEARCH_DIRTY_LIST, &in, u->batch, &rows,
			    &a, e);

	for (int i = 0, bad = 0; i < n && !bad; i++) {
		bad = reindex(u, rows[i].pos, e);
		if (bad)
			n = -1;
	}
	if (n > 0 && sql_exec(u->db, Q_SEARCH_DIRTY_DROP,
			      &(struct search_dirty_drop_in){rows[0].pos,
							     rows[n - 1].pos},
			      e) < 0)
		n = -1;
	arena_fini(&a);
	return n;
}

static int catch_up(struct update *u, struct err *e)
{
	struct search_behind_row mark;
	struct search_events_in in;
	struct search_events_row row;
	struct sql_rows it;
	int64_t last = 0;
	size_t bytes = 0;
	int rc, n = 0;

	rc = sql_get(u->db, Q_SEARCH_BEHIND,
		     &(struct search_behind_in){u->lo, u->hi}, &mark, NULL, e);
	if (rc <= 0)
		return rc;
	u->lo = mark.session; /* older ones need not be examined again */
	in = (struct search_events_in){event_pos(mark.session, mark.upto + 1),
				       event_pos(mark.session, EVENT_SEQ_MAX)};
	it = sql_rows(u->db, Q_SEARCH_EVENTS, &in);
	rc = 0;
	while (!rc && n < u->batch && bytes < BATCH_BYTES &&
	       sql_next(&it, &row)) {
		rc = index_event(u, row.pos, row.body, e);
		last = row.pos;
		bytes += u->text.n;
		n++;
	}
	if (sql_end(&it, rc ? &(struct err){0} : e) || rc)
		return -1;
	return sql_exec(u->db, Q_SEARCH_WATERMARK_PUT,
			&(struct search_watermark_put_in){mark.session,
							  event_seq(last)},
			e) < 0
		       ? -1
		       : n;
}

static int redo_open(struct update *u, struct err *e)
{
	struct search_open_list_in in = {
		u->open, event_pos(u->hi, EVENT_SEQ_MAX), u->batch};
	struct search_open_list_row *rows;
	struct arena a = {0};
	int n = sql_collect(u->db, Q_SEARCH_OPEN_LIST, &in, u->batch, &rows, &a,
			    e);

	for (int i = 0, bad = 0; i < n && !bad; i++) {
		u->open = rows[i].pos;
		bad = reindex(u, rows[i].pos, e);
		if (bad)
			n = -1;
	}
	arena_fini(&a);
	return n;
}

/* Each batch is its own transaction, so that other writers get their turn. */
static int repeat(struct update *u, int (*step)(struct update *, struct err *),
		  struct err *e)
{
	int n;

	do {
		/* an index can be built again from the events */
		if (fts_build_batch(&u->build, e) ||
		    sql_enter_relaxed(u->db, e))
			return -1;
		n = sql_leave(u->db, step(u, e), e);
		if (n > 0 && u->watch)
			u->watch->at(u->watch->arg, u->looked_at);
	} while (n > 0);
	return n;
}

int search_step(struct agent_file *f, int64_t session, struct err *e)
{
	struct update u = {.db = f->db,
			   .lo = session,
			   .hi = session,
			   .batch = STEP_EVENTS,
			   .text = BUF_MAX(TEXT_MAX)};
	int n;

	if (sql_enter_relaxed(u.db, e))
		return -1;
	n = redo_dirty(&u, e);
	if (n == 0)
		n = catch_up(&u, e);
	n = sql_leave(u.db, n, e);
	buf_fini(&u.text);
	return n;
}

int search_update(struct agent_file *f, int64_t session,
		  const struct index_watch *watch, struct err *e)
{
	struct update u = {
		.watch = watch,
		.db = f->db,
		.lo = session ? session : 1,
		.hi = session ? session : INT32_MAX,
		.batch = BATCH_EVENTS,
		.text = BUF_MAX(TEXT_MAX),
		.build = {f->db, "search_text", 0},
	};
	int rc;

	u.open = event_pos(u.lo, 0);
	rc = repeat(&u, redo_dirty, e) || repeat(&u, catch_up, e) ||
	     repeat(&u, redo_open, e) || fts_build_end(&u.build, e);
	buf_fini(&u.text);
	return rc ? -1 : u.looked_at;
}

static int make_anew(struct sql *db, struct err *e)
{
	if (sql_remake(db, "search_text", e))
		return -1;
	return sql_script(db,
			  "DELETE FROM search_watermark;"
			  "DELETE FROM search_dirty",
			  e);
}

int search_rebuild(struct agent_file *f, struct err *e)
{
	if (sql_enter(f->db, e))
		return -1;
	if (sql_leave(f->db, make_anew(f->db, e), e))
		return -1;
	return search_update(f, 0, NULL, e);
}

int search_stats(struct agent_file *f, struct search_stats *out, struct err *e)
{
	struct search_counts_row row;

	if (sql_get(f->db, Q_SEARCH_COUNTS, NULL, &row, NULL, e) < 0)
		return -1;
	*out = (struct search_stats){row.indexed, row.dirty, row.events};
	return 0;
}
