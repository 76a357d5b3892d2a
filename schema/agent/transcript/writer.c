#include "schema/agent/transcript/writer.h"

#include "lib/base/buf.h"
#include "lib/base/clock.h"
#include "lib/base/fault.h"
#include "lib/base/hash.h"
#include "lib/base/text.h"
#include "lib/json/json.h"
#include "schema/agent/marker.h"
#include "schema/agent/transcript/session.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The state in memory is valid after our own commit. */
static int note_commit(struct writer *w, int rc)
{
	w->commits = rc ? UINT64_MAX : sql_commits(w->file->db);
	return rc;
}

static int stale(const struct writer *w, const char *why, struct err *e)
{
	return err_set(e, ERR_STALE, "session %s: %s: nothing was written",
		       w->sid, why);
}

static int check_fence(struct writer *w, struct err *e)
{
	struct run_row_local run;
	struct arena a = {0};
	int64_t epoch = 0;
	int found, bad = 0;

	if (agent_file_epoch(w->file, &epoch, e))
		return -1;
	if (w->epoch && epoch > w->epoch)
		return stale(w, "the agent file has a new owner", e);
	if (w->run == OPT_NONE)
		return 0;
	found = sql_get(w->file->db, Q_RUN_LOCAL_BY_ID,
			&(struct run_local_by_id_in){w->run}, &run, &a, e);
	if (found < 0)
		bad = -1;
	else if (!found || run.attempt != w->attempt)
		bad = stale(w, "another attempt has taken over the run", e);
	else if (strcmp(run.status, "running") != 0)
		bad = stale(w, "the run has ended", e);
	arena_fini(&a);
	return bad;
}

/* The last seq of the session: of its own events, or of its base. */
static int read_tail(struct writer *w, int64_t base_seq, struct err *e)
{
	struct event_tail_row tail;

	if (sql_get(w->file->db, Q_EVENT_TAIL,
		    &(struct event_tail_in){
			    event_pos(w->session, 0),
			    event_pos(w->session, EVENT_SEQ_MAX)},
		    &tail, NULL, e) < 0)
		return -1;
	w->tail = tail.pos ? event_seq(tail.pos) : base_seq;
	return 0;
}

static int renew(struct writer *w, struct err *e)
{
	struct session_row row;
	struct arena a = {0};
	int found = sql_get(w->file->db, Q_SESSION_BY_ID,
			    &(struct session_by_id_in){w->session}, &row, &a,
			    e);
	int bad = found < 0 ? -1 : 0;

	if (found == 1 && row.key)
		bad = read_tail(w, row.base_seq, e);
	else if (found >= 0)
		bad = err_set(e, ERR_NOTFOUND, "session %s was deleted",
			      w->sid);
	if (!bad) {
		w->leaf_fixed = row.leaf != OPT_NONE;
		w->leaf = w->leaf_fixed ? row.leaf : w->tail;
	}
	arena_fini(&a);
	return bad;
}

int writer_check(struct writer *w, struct err *e)
{
	uint32_t now = sql_generation(w->file->db);

	if (now == w->generation && sql_commits(w->file->db) == w->commits)
		return 0;
	if (check_fence(w, e) || renew(w, e))
		return -1;
	w->generation = now;
	w->commits = sql_commits(w->file->db);
	return 0;
}

static int begin_run(struct writer *w, const struct writer_run *run,
		     struct err *e)
{
	struct run_local_begin_in in = {run->run_id,    w->session,
					run->attempt,   run->epoch,
					run->workspace, clock_now()};
	struct run_row_local row;
	struct arena a = {0};
	int rc = sql_exec(w->file->db, Q_RUN_LOCAL_BEGIN, &in, e);

	if (rc >= 0)
		rc = sql_get(w->file->db, Q_RUN_LOCAL_GET,
			     &(struct run_local_get_in){run->run_id}, &row, &a,
			     e);
	if (rc > 0) {
		w->run = row.id;
		w->attempt = run->attempt;
		w->epoch = run->epoch;
	}
	arena_fini(&a);
	return rc < 0 ? -1 : 0;
}

static int check_session_workspace(struct writer *w,
				   const struct session_row *row,
				   const struct writer_run *run, struct err *e)
{
	const char *has = row->workspace ? row->workspace : "";

	if (!run || !run->session_workspace ||
	    !strcmp(has, run->session_workspace))
		return 0;
	w->other_workspace = true;
	text_fit(w->workspace, sizeof w->workspace, has);
	return stale(w, "it names another workspace", e);
}

static int open_session(struct writer *w, const char *key,
			const struct writer_run *run, struct err *e)
{
	struct session_row row;
	struct arena a = {0};
	int rc = session_ensure(w->file, &(struct session_new){.key = key},
				&row, &a, e);

	if (rc >= 0) {
		w->session = row.id;
		snprintf(w->sid, sizeof w->sid, "%s", row.sid);
		rc = check_session_workspace(w, &row, run, e);
		if (rc == 0 && run)
			rc = begin_run(w, run, e);
	}
	arena_fini(&a);
	if (rc)
		return -1;
	w->commits = UINT64_MAX; /* nothing is known yet */
	return writer_check(w, e);
}

int writer_open(struct writer *w, struct agent_file *f, const char *session_key,
		const struct writer_run *run, struct err *e)
{
	*w = (struct writer){.file = f, .run = OPT_NONE};
	if (run && !id_is(ID_RUN, run->run_id))
		return err_set(e, ERR_INVALID, "'%s' is not a run id",
			       quoted(run->run_id).text);
	/* relaxed: opening acknowledges nothing, and the first acknowledged
	 * append covers it */
	if (sql_enter_relaxed(f->db, e))
		return -1;
	return note_commit(
		w, sql_leave(f->db, open_session(w, session_key, run, e), e));
}

static int check_new(const struct event_new *ev, struct err *e)
{
	if (ev->body && strlen(ev->body) > EVENT_BODY_MAX)
		return err_set(e, ERR_TOOBIG,
			       "an event of %zu bytes; at most %u are allowed",
			       strlen(ev->body), EVENT_BODY_MAX);
	if (ev->key &&
	    text_check_key("idempotency key", ev->key, EVENT_KEY_MAX, e))
		return -1;
	return ev->event_id ? text_check_key("event id", ev->event_id,
					     EVENT_KEY_MAX, e)
			    : 0;
}

int writer_has_key(struct writer *w, const char *key, struct err *e)
{
	struct event_find_key_in in = {w->session, key};
	struct event_find_key_row row;
	struct sql_rows it = sql_rows(w->file->db, Q_EVENT_FIND_KEY, &in);
	bool found = sql_next(&it, &row);

	return sql_end(&it, e) ? -1 : found;
}

/* Returns 1 if the key exists with the same content, 0 if it is new. */
static int find_repeat(struct writer *w, const struct event_new *ev,
		       enum event_type type, struct event_ref *out,
		       struct err *e)
{
	struct event_find_key_in in = {w->session, ev->key};
	struct event_find_key_row row;
	struct sql_rows it = sql_rows(w->file->db, Q_EVENT_FIND_KEY, &in);
	bool found = sql_next(&it, &row), same = false;

	if (found) {
		same = row.type == type &&
		       !strcmp(row.body, ev->body ? ev->body : "{}");
		*out = (struct event_ref){row.pos, event_seq(row.pos), true};
	}
	if (sql_end(&it, e))
		return -1;
	if (found && !same)
		return err_set(
			e, ERR_CONFLICT,
			"idempotency key '%s' was used for event %" PRId64
			" with other content",
			quoted(ev->key).text, out->seq);
	return found;
}

static int insert_extras(struct writer *w, const struct event_new *ev,
			 int64_t pos, int64_t at, struct err *e)
{
	struct sql *db = w->file->db;
	const struct usage_new *u = ev->usage;
	const struct outbox_new *o = ev->outbox;

	if (u && sql_exec(db, Q_USAGE_INSERT,
			  &(struct usage_insert_in){pos, u->model, u->input,
						    u->output, u->cached,
						    u->reasoning, u->cost_nano},
			  e) < 0)
		return -1;
	if (o && sql_exec(db, Q_OUTBOX_INSERT,
			  &(struct outbox_insert_in){pos, o->key, o->target,
						     o->body, at},
			  e) < 0)
		return -1;
	return 0;
}

/* Rare properties of an event: a parent that is not the previous event, an id
 * from elsewhere, an unknown type. */
static int insert_extra(struct writer *w, const struct event_new *ev,
			enum event_type type, int64_t pos, int64_t parent,
			struct err *e)
{
	bool unknown_type = type == EVENT_unknown &&
			    strcmp(ev->type, "unknown") != 0;

	if (parent < 0 || parent > w->tail)
		return err_set(e, ERR_NOTFOUND,
			       "parent %" PRId64 " is not an event of session "
			       "%s",
			       parent, w->sid);
	if (parent != w->tail &&
	    sql_exec(w->file->db, Q_EVENT_PARENT_INSERT,
		     &(struct event_parent_insert_in){pos, parent}, e) < 0)
		return -1;
	if ((unknown_type || ev->event_id) &&
	    sql_exec(w->file->db, Q_EVENT_EXTRA_INSERT,
		     &(struct event_extra_insert_in){
			     pos, ev->event_id, unknown_type ? ev->type : NULL},
		     e) < 0)
		return -1;
	return 0;
}

/* The leaf in the row is obsolete once an event follows it. */
static int free_leaf(struct writer *w, struct err *e)
{
	if (!w->leaf_fixed)
		return 0;
	if (sql_exec(w->file->db, Q_SESSION_SET_LEAF,
		     &(struct session_set_leaf_in){w->session, OPT_NONE,
						   clock_now()},
		     e) < 0)
		return -1;
	w->leaf_fixed = false;
	return 0;
}

static int insert(struct writer *w, const struct event_new *ev,
		  struct event_ref *out, struct err *e)
{
	enum event_type type = event_type_from(ev->type);
	int64_t parent = ev->parent == WRITER_LEAF ? w->leaf : ev->parent;
	struct event_insert_in in = {
		.pos = event_pos(w->session, w->tail + 1),
		.type = type,
		.at = ev->at ? ev->at : clock_now(),
		.run = w->run,
		.key = ev->key,
		.body = ev->body ? ev->body : "{}",
	};
	int repeat = ev->key ? find_repeat(w, ev, type, out, e) : 0;

	if (repeat)
		return repeat < 0 ? -1 : 0;
	if (w->tail == EVENT_SEQ_MAX)
		return err_set(e, ERR_FULL, "session %s is full", w->sid);
	if (sql_exec(w->file->db, Q_EVENT_INSERT, &in, e) < 0 ||
	    insert_extra(w, ev, type, in.pos, parent, e) ||
	    insert_extras(w, ev, in.pos, in.at, e) || free_leaf(w, e))
		return -1;
	w->tail++;
	w->leaf = w->tail;
	*out = (struct event_ref){in.pos, w->tail, false};
	return 0;
}

static int append_all(struct writer *w, const struct event_new *ev, size_t n,
		      struct event_ref *out, struct err *e)
{
	if (writer_check(w, e))
		return -1;
	for (size_t i = 0; i < n; i++)
		if (insert(w, &ev[i], &out[i], e))
			return -1;
	return fault_point(FAULT_append_before_commit, e);
}

/* Runs in the open transaction and ends it. */
static int append_and_commit(struct writer *w, const struct event_new *ev,
			     size_t n, struct event_ref *out, struct err *e)
{
	if (note_commit(
		    w, sql_leave(w->file->db, append_all(w, ev, n, out, e), e)))
		return -1;
	return fault_point(FAULT_append_after_commit, e);
}

static int check_all(const struct event_new *ev, size_t n, bool *has_outbox,
		     struct err *e)
{
	*has_outbox = false;
	for (size_t i = 0; i < n; i++) {
		if (check_new(&ev[i], e))
			return -1;
		*has_outbox = *has_outbox || ev[i].outbox;
	}
	return 0;
}

int writer_append_batch(struct writer *w, const struct event_new *ev, size_t n,
			struct event_ref *out, struct err *e)
{
	bool ignored;

	if (check_all(ev, n, &ignored, e) || sql_enter(w->file->db, e))
		return -1;
	return append_and_commit(w, ev, n, out, e);
}

int writer_stream(struct writer *w, const struct event_new *ev, size_t n,
		  struct event_ref *out, struct err *e)
{
	struct sql *db = w->file->db;
	bool has_outbox;

	if (check_all(ev, n, &has_outbox, e) ||
	    (has_outbox ? sql_enter(db, e) : sql_enter_relaxed(db, e)))
		return -1;
	return append_and_commit(w, ev, n, out, e);
}

int writer_append(struct writer *w, const struct event_new *ev,
		  struct event_ref *out, struct err *e)
{
	return writer_append_batch(w, ev, 1, out, e);
}

static int put_system(struct writer *w, const char *text, const char *digest,
		      struct event_ref *out, struct err *e)
{
	struct buf body = BUF_MAX(EVENT_BODY_MAX);
	int rc;

	json_begin_object(&body);
	json_put_text(&body, "role", "system");
	json_put_text(&body, "content", text);
	json_end_object(&body);
	rc = buf_ok(&body, "system prompt", e);
	if (!rc)
		rc = insert(w,
			    &(struct event_new){.type = "system",
						.body = body.p,
						.parent = WRITER_LEAF},
			    out, e);
	if (!rc && sql_exec(w->file->db, Q_SESSION_SET_SYSTEM,
			    &(struct session_set_system_in){
				    w->session, out->seq, digest, clock_now()},
			    e) < 0)
		rc = -1;
	buf_fini(&body);
	return rc;
}

static int set_system(struct writer *w, const char *text, struct event_ref *out,
		      struct err *e)
{
	struct session_row row;
	struct arena a = {0};
	char digest[HASH_HEX];
	int rc = writer_check(w, e);

	if (rc)
		return -1;
	hash_of(text, strlen(text), digest);
	rc = sql_get(w->file->db, Q_SESSION_BY_ID,
		     &(struct session_by_id_in){w->session}, &row, &a, e);
	if (rc > 0 && row.system_digest && !strcmp(row.system_digest, digest)) {
		*out = (struct event_ref){event_pos(w->session, row.system_seq),
					  row.system_seq, true};
		rc = 0;
	} else if (rc > 0) {
		rc = put_system(w, text, digest, out, e);
	}
	arena_fini(&a);
	return rc < 0 ? -1 : 0;
}

int writer_set_system(struct writer *w, const char *text, struct event_ref *out,
		      struct err *e)
{
	if (sql_enter_relaxed(w->file->db, e))
		return -1;
	return note_commit(
		w, sql_leave(w->file->db, set_system(w, text, out, e), e));
}

static int end_run(struct writer *w, const struct event_new *last,
		   const char *status, const char *reason,
		   struct event_ref *out, struct err *e)
{
	struct run_local_end_in in = {w->run, status, reason, clock_now()};

	if (append_all(w, last, 1, out, e))
		return -1;
	if (sql_exec(w->file->db, Q_RUN_LOCAL_END, &in, e) < 0)
		return -1;
	return marker_end_run(w->file, w->run, w->tail, e);
}

int writer_end_run(struct writer *w, const struct event_new *last,
		   const char *status, const char *reason,
		   struct event_ref *out, struct err *e)
{
	int rc;

	if (check_new(last, e))
		return -1;
	rc = sql_enter(w->file->db, e);
	if (!rc)
		rc = sql_leave(w->file->db,
			       end_run(w, last, status, reason, out, e), e);
	w->commits = UINT64_MAX; /* from now on the fence rejects this
				  * attempt */
	return rc;
}
