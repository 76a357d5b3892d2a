#include "schema/agent/transcript/branch.h"

#include "lib/base/buf.h"
#include "lib/base/clock.h"
#include "lib/base/text.h"
#include "lib/json/json.h"
#include "schema/agent/transcript/history.h"
#include "schema/agent/transcript/session.h"

#include <inttypes.h>
#include <string.h>

static int refuse_running(struct agent_file *f, const struct session_row *s,
			  struct err *e)
{
	struct run_local_active_row active;

	if (sql_get(f->db, Q_RUN_LOCAL_ACTIVE,
		    &(struct run_local_active_in){s->id}, &active, NULL, e) < 0)
		return -1;
	return active.n ? err_set(e, ERR_BUSY,
				  "session '%s': a run is writing to it",
				  quoted(s->key).text)
			: 0;
}

/* The last event that the session shows, and the end of its log. */
static int ends_of(struct agent_file *f, const struct session_row *s,
		   int64_t *leaf, int64_t *tail, struct err *e)
{
	struct event_tail_row row;

	if (sql_get(f->db, Q_EVENT_TAIL,
		    &(struct event_tail_in){event_pos(s->id, 0),
					    event_pos(s->id, EVENT_SEQ_MAX)},
		    &row, NULL, e) < 0)
		return -1;
	*tail = row.pos ? event_seq(row.pos) : s->base_seq;
	*leaf = s->leaf != OPT_NONE ? s->leaf : *tail;
	return 0;
}

static int check_seq(const struct session_row *s, int64_t seq, int64_t tail,
		     struct err *e)
{
	if (seq < 0 || seq > tail)
		return err_set(e, ERR_NOTFOUND,
			       "session '%s' has events 1 to %" PRId64
			       ", not %" PRId64,
			       quoted(s->key).text, tail, seq);
	return 0;
}

/* The session that contains event `seq` of a history: the session itself or an
 * ancestor. */
static int owner_of(struct agent_file *f, const struct session_row *from,
		    int64_t seq, int64_t *owner, struct arena *a, struct err *e)
{
	struct session_row s = *from;

	while (s.base != OPT_NONE && seq <= s.base_seq)
		if (sql_get(f->db, Q_SESSION_BY_ID,
			    &(struct session_by_id_in){s.base}, &s, a, e) <= 0)
			return err_set(e, ERR_CORRUPT,
				       "%s: the origin of a fork is missing",
				       sql_path(f->db));
	*owner = s.id;
	return 0;
}

static int insert_fork(struct agent_file *f, const struct fork_new *n,
		       const struct session_row *from, int64_t base, int64_t at,
		       struct err *e)
{
	struct id id = id_new(ID_SESSION);
	struct session_insert_in in = {
		.sid = id.text,
		.key = n->key,
		.status = "active",
		.kind = "fork",
		.is_ephemeral = n->is_ephemeral,
		.title = n->title ? n->title : from->title,
		.model = from->model,
		.source = from->source,
		.parent = from->sid,
		.base = base,
		.base_seq = base == OPT_NONE ? 0 : at,
		.meta = from->meta,
		.now = clock_now(),
	};

	return sql_exec(f->db, Q_SESSION_INSERT, &in, e) < 0 ? -1 : 0;
}

static int copy_segment(struct agent_file *f, const struct segment *s,
			int64_t to_session, struct err *e)
{
	static const unsigned steps[] = {Q_COPY_EVENTS, Q_COPY_EXTRA,
					 Q_COPY_JUMPS, Q_COPY_PARTS,
					 Q_COPY_USAGE};
	struct copy_events_in in = {
		event_pos(s->session, s->first), event_pos(s->session, s->last),
		event_pos(to_session, 0) - event_pos(s->session, 0)};

	for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
		if (sql_exec(f->db, steps[i], &in, e) < 0)
			return -1;
	return 0;
}

static int copy_events(struct agent_file *f, int64_t from, int64_t at,
		       int64_t to, struct arena *a, struct err *e)
{
	struct history h;

	if (history_load(f, from, HISTORY_LOG, &h, a, e))
		return -1;
	for (int i = 0; i < h.count; i++) {
		struct segment s = h.segments[i];

		s.last = s.last < at ? s.last : at;
		if (s.first <= s.last && copy_segment(f, &s, to, e))
			return -1;
	}
	return 0;
}

static int fork_it(struct agent_file *f, const struct fork_new *n,
		   struct session_row *row, struct arena *a, struct err *e)
{
	struct session_row from, existing;
	int64_t leaf, tail, at, owner = OPT_NONE;
	int found;

	if (session_need(f, n->from, &from, a, e) ||
	    (n->copy && refuse_running(f, &from, e)) ||
	    ends_of(f, &from, &leaf, &tail, e))
		return -1;
	at = n->at > 0 ? n->at : leaf;
	if (check_seq(&from, at, tail, e) ||
	    owner_of(f, &from, at, &owner, a, e))
		return -1;
	found = session_get(f, n->key, &existing, a, e);
	if (found)
		return found < 0 ? -1
				 : err_set(e, ERR_CONFLICT,
					   "session '%s' already exists",
					   quoted(n->key).text);
	if (insert_fork(f, n, &from, n->copy ? OPT_NONE : owner, at, e) ||
	    session_need(f, n->key, row, a, e))
		return -1;
	return n->copy ? copy_events(f, from.id, at, row->id, a, e) : 0;
}

int session_fork(struct agent_file *f, const struct fork_new *n,
		 struct session_row *row, struct arena *a, struct err *e)
{
	if (text_check_key("session key", n->key, SESSION_KEY_MAX, e) ||
	    sql_enter(f->db, e))
		return -1;
	return sql_leave(f->db, fork_it(f, n, row, a, e), e);
}

int session_tree(struct agent_file *f, const char *key,
		 struct session_lineage **rows, struct arena *a, struct err *e)
{
	struct session_row s;

	if (session_need(f, key, &s, a, e))
		return -1;
	while (s.base != OPT_NONE)
		if (sql_get(f->db, Q_SESSION_BY_ID,
			    &(struct session_by_id_in){s.base}, &s, a, e) <= 0)
			break;
	return sql_collect(f->db, Q_SESSION_TREE,
			   &(struct session_tree_in){s.id}, 100000, rows, a, e);
}

static int set_leaf(struct agent_file *f, const struct session_row *s,
		    int64_t leaf, int64_t tail, struct err *e)
{
	struct session_set_leaf_in in = {s->id, leaf == tail ? OPT_NONE : leaf,
					 clock_now()};

	return sql_exec(f->db, Q_SESSION_SET_LEAF, &in, e) < 0 ? -1 : 0;
}

static int rewind_it(struct agent_file *f, const char *key, int64_t seq,
		     struct arena *a, struct err *e)
{
	struct session_row s;
	int64_t leaf, tail;

	if (session_need(f, key, &s, a, e) || refuse_running(f, &s, e) ||
	    ends_of(f, &s, &leaf, &tail, e) || check_seq(&s, seq, tail, e))
		return -1;
	if (sql_exec(f->db, Q_REWIND_INSERT,
		     &(struct rewind_insert_in){s.id, leaf, seq, clock_now()},
		     e) < 0)
		return -1;
	return set_leaf(f, &s, seq, tail, e);
}

static int restore_it(struct agent_file *f, const char *key, struct arena *a,
		      struct err *e)
{
	struct rewind_last_row last;
	struct session_row s;
	int64_t leaf, tail;
	int found;

	if (session_need(f, key, &s, a, e) || refuse_running(f, &s, e) ||
	    ends_of(f, &s, &leaf, &tail, e))
		return -1;
	found = sql_get(f->db, Q_REWIND_LAST, &(struct rewind_last_in){s.id},
			&last, NULL, e);
	if (found <= 0)
		return found < 0 ? -1
				 : err_set(e, ERR_NOTFOUND,
					   "session '%s' has no rewind to undo",
					   quoted(key).text);
	if (sql_exec(f->db, Q_REWIND_RESTORED,
		     &(struct rewind_restored_in){last.id, clock_now()}, e) < 0)
		return -1;
	return set_leaf(f, &s, last.from_leaf, tail, e);
}

int session_rewind(struct agent_file *f, const char *key, int64_t seq,
		   struct err *e)
{
	struct arena a = {0};
	int rc = sql_enter(f->db, e);

	if (!rc)
		rc = sql_leave(f->db, rewind_it(f, key, seq, &a, e), e);
	arena_fini(&a);
	return rc;
}

int session_restore(struct agent_file *f, const char *key, struct err *e)
{
	struct arena a = {0};
	int rc = sql_enter(f->db, e);

	if (!rc)
		rc = sql_leave(f->db, restore_it(f, key, &a, e), e);
	arena_fini(&a);
	return rc;
}

/* Deletes the events of a session after `keep`. */
static int drop_events(struct agent_file *f, int64_t session, int64_t keep,
		       struct err *e)
{
	struct event_delete_range_in in = {event_pos(session, keep + 1),
					   event_pos(session, EVENT_SEQ_MAX),
					   INT64_MAX};

	return sql_exec(f->db, Q_EVENT_DELETE_RANGE, &in, e) < 0 ? -1 : 0;
}

static int drop_session(struct agent_file *f, int64_t id, struct err *e)
{
	return drop_events(f, id, 0, e) ||
			       sql_exec(f->db, Q_RUN_LOCAL_DELETE,
					&(struct run_local_delete_in){id},
					e) < 0 ||
			       sql_exec(f->db, Q_SESSION_DELETE_ROW,
					&(struct session_delete_row_in){id},
					e) < 0
		       ? -1
		       : 0;
}

static int mark_deleted(struct agent_file *f, int64_t id, int64_t keep,
			struct err *e)
{
	if (drop_events(f, id, keep, e) ||
	    sql_exec(f->db, Q_GRANT_DELETE_ALL,
		     &(struct grant_delete_all_in){id}, e) < 0 ||
	    sql_exec(f->db, Q_SESSION_TOMBSTONE,
		     &(struct session_tombstone_in){id, clock_now()}, e) < 0)
		return -1;
	return 0;
}

/*
 * Deletes one session. If a fork needs it, it is only marked as deleted and
 * keeps what its forks need. Then does the same with its base, if that was kept
 * only for this session.
 */
static int delete_up(struct agent_file *f, struct session_row s,
		     struct arena *a, struct err *e)
{
	for (;;) {
		struct session_forks_row *forks;
		int64_t base = s.base, need = -1;
		int n = sql_collect(f->db, Q_SESSION_FORKS,
				    &(struct session_forks_in){s.id}, 1000000,
				    &forks, a, e);

		if (n < 0)
			return -1;
		for (int i = 0; i < n; i++)
			need = forks[i].base_seq > need ? forks[i].base_seq
							: need;
		if (n > 0)
			return mark_deleted(f, s.id, need, e);
		if (drop_session(f, s.id, e))
			return -1;
		if (base == OPT_NONE)
			return 0;
		if (sql_get(f->db, Q_SESSION_BY_ID,
			    &(struct session_by_id_in){base}, &s, a, e) < 0)
			return -1;
		if (strcmp(s.status, "deleted") != 0)
			return 0;
	}
}

static int delete_it(struct agent_file *f, const char *key, struct arena *a,
		     struct err *e)
{
	struct session_row s;

	if (session_need(f, key, &s, a, e) || refuse_running(f, &s, e))
		return -1;
	return delete_up(f, s, a, e);
}

int session_delete(struct agent_file *f, const char *key, struct err *e)
{
	struct arena a = {0};
	int rc = sql_enter(f->db, e);

	if (!rc)
		rc = sql_leave(f->db, delete_it(f, key, &a, e), e);
	arena_fini(&a);
	return rc;
}

static int insert_compaction(struct writer *w, const struct compaction_new *c,
			     int64_t event_seq_, struct err *e)
{
	struct compaction_insert_in in = {
		w->session,       event_seq_,      c->upto,    c->summary,
		c->tokens_before, c->tokens_after, clock_now()};

	return sql_exec(w->file->db, Q_COMPACTION_INSERT, &in, e) < 0 ? -1 : 0;
}

int session_compact(struct writer *w, const struct compaction_new *c,
		    struct event_ref *out, struct err *e)
{
	struct buf body = BUF_MAX(EVENT_BODY_MAX);
	struct event_new ev = {.type = "compaction", .parent = WRITER_LEAF};
	int rc;

	json_begin_object(&body);
	json_put_int(&body, "upto", c->upto);
	json_put_text(&body, "summary", c->summary);
	json_end_object(&body);
	rc = buf_ok(&body, "summary", e);
	ev.body = body.p;
	if (!rc)
		rc = sql_enter(w->file->db, e);
	if (!rc) {
		rc = writer_append(w, &ev, out, e);
		if (!rc && c->upto >= out->seq)
			rc = err_set(e, ERR_NOTFOUND,
				     "session %s has no event %" PRId64, w->sid,
				     c->upto);
		if (!rc)
			rc = insert_compaction(w, c, out->seq, e);
		rc = sql_leave(w->file->db, rc, e);
	}
	buf_fini(&body);
	return rc;
}
