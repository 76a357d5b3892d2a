#include "schema/agent/transcript/session_jsonl.h"

#include "lib/base/clock.h"
#include "lib/base/text.h"
#include "lib/json/json.h"
#include "schema/agent/transcript/event_body.h"
#include "schema/agent/transcript/session.h"
#include "schema/agent/transcript/session_import_run.h"
#include "schema/agent/transcript/writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Old and new numbers of events: they differ if only a path was exported. */
struct numbers {
	int64_t *old; /* ascending; new = index + 1 */
	size_t n;
	size_t cap;
};

struct import {
	struct agent_file *file;
	struct writer writer;
	struct numbers numbers;
	int64_t leaf; /* as in the file, or OPT_NONE */
	bool may_go_on;
	int64_t there; /* events that the session had before */
	int64_t line;
	const char *text;   /* of the line */
	struct arena arena; /* of one line */
};

static int refuse_line(const struct import *im, const char *why, struct err *e)
{
	return err_set(e, ERR_INVALID, "line %" PRId64 ": %s", im->line, why);
}

static int remember_number(struct numbers *m, int64_t old)
{
	if (m->n > 0 && old <= m->old[m->n - 1])
		return -1;
	if (m->n == m->cap) {
		m->cap = m->cap ? m->cap * 2 : 256;
		m->old = realloc(m->old, m->cap * sizeof *m->old);
		if (!m->old)
			abort();
	}
	m->old[m->n++] = old;
	return 0;
}

/* The new number for an old one; 0 stays 0; -1 if it does not occur. */
static int64_t renumber(const struct numbers *m, int64_t old)
{
	size_t lo = 0, hi = m->n;

	if (old == 0)
		return 0;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (m->old[mid] == old)
			return (int64_t)mid + 1;
		if (m->old[mid] < old)
			lo = mid + 1;
		else
			hi = mid;
	}
	return -1;
}

/* A member of the line that is JSON itself, unchanged; NULL if it is absent. */
static int member_json(struct import *im, const char *path, const char **out,
		       struct err *e)
{
	struct json_member_row row = {0};
	int found = sql_get(im->file->db, Q_JSON_MEMBER,
			    &(struct json_member_in){im->text, path}, &row,
			    &im->arena, e);

	*out = found > 0 ? row.text : NULL;
	return found < 0 ? -1 : 0;
}

static int part_member(struct import *im, int64_t idx, const char *name,
		       const char **out, struct err *e)
{
	char path[64];

	snprintf(path, sizeof path, "$.parts[%" PRId64 "].%s", idx, name);
	return member_json(im, path, out, e);
}

static int insert_part(struct import *im, int64_t pos, int64_t idx,
		       const cJSON *p, struct err *e)
{
	struct part_insert_in in = {
		.pos = pos,
		.idx = idx,
		.kind = json_text(p, "kind", "text"),
		.state = json_text(p, "state", "done"),
		.name = json_text(p, "name", NULL),
		.call_id = json_text(p, "call_id", NULL),
		.text = json_text(p, "text", ""),
		.now = clock_now(),
	};

	if (part_member(im, idx, "input", &in.input, e) ||
	    part_member(im, idx, "output", &in.output, e) ||
	    part_member(im, idx, "meta", &in.meta, e))
		return -1;
	in.meta = in.meta ? in.meta : "{}";
	return sql_exec(im->file->db, Q_PART_INSERT, &in, e) < 0
		       ? err_wrap(e, "line %" PRId64, im->line)
		       : 0;
}

static int insert_parts(struct import *im, int64_t pos, const cJSON *ev,
			struct err *e)
{
	const cJSON *parts = cJSON_GetObjectItemCaseSensitive(ev, "parts");
	const cJSON *p;
	int64_t idx = 0;

	if (parts && !cJSON_IsArray(parts))
		return refuse_line(im, "parts must be an array", e);
	cJSON_ArrayForEach(
		p, parts) if (insert_part(im, pos, idx++, p, e)) return -1;
	return 0;
}

static struct usage_new usage_of(const cJSON *u)
{
	return (struct usage_new){
		.model = json_text(u, "model", NULL),
		.input = json_i64(u, "input", 0),
		.output = json_i64(u, "output", 0),
		.cached = json_i64(u, "cached", 0),
		.reasoning = json_i64(u, "reasoning", 0),
		.cost_nano = json_i64(u, "cost_nano", 0),
	};
}

/* The id is stored only if it differs from the derived one. */
static const char *source_id(const struct import *im, const char *id)
{
	struct event_id own = event_id_of(im->writer.sid, im->writer.tail + 1);

	return id && strcmp(id, own.text) != 0 ? id : NULL;
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

/* The existing event must be equal to the one in the line. */
static int compare_event(struct import *im, int64_t seq, const cJSON *ev,
			 const char *body, struct err *e)
{
	int64_t pos = event_pos(im->writer.session, seq);
	struct event_forward_in in = {pos, pos, 1};
	struct event_id own = event_id_of(im->writer.sid, seq);
	const char *id = json_text(ev, "id", NULL);
	struct event_record row;
	int found = sql_get(im->file->db, Q_EVENT_FORWARD, &in, &row,
			    &im->arena, e);

	if (found < 0)
		return -1;
	if (id && !strcmp(id, own.text))
		id = NULL;
	if (found &&
	    same_text(event_body_read(row.body, &im->arena),
		      body ? body : "{}") &&
	    same_text(row.event_id, id))
		return 0;
	return err_set(e, ERR_CONFLICT,
		       "the session already exists, and its event %" PRId64
		       " differs from the file",
		       seq);
}

static int append_event(struct import *im, const cJSON *ev, const char *body,
			struct err *e)
{
	const cJSON *u = cJSON_GetObjectItemCaseSensitive(ev, "usage");
	struct usage_new usage = usage_of(u);
	struct event_new n = {
		.type = json_text(ev, "type", "unknown"),
		.body = body,
		.key = json_text(ev, "key", NULL),
		.event_id = source_id(im, json_text(ev, "id", NULL)),
		.at = json_i64(ev, "at", 0),
		.usage = cJSON_IsObject(u) ? &usage : NULL,
	};
	struct event_ref ref;
	int64_t old = json_i64(ev, "seq", im->writer.tail + 1);

	n.parent = renumber(
		&im->numbers,
		json_i64(ev, "parent",
			 im->numbers.n ? im->numbers.old[im->numbers.n - 1]
				       : 0));
	if (n.parent < 0)
		return refuse_line(im, "its parent is not an earlier event", e);
	if (old < 1 || remember_number(&im->numbers, old))
		return refuse_line(im, "seq does not increase", e);
	if ((int64_t)im->numbers.n <= im->there)
		return compare_event(im, (int64_t)im->numbers.n, ev, body, e);
	if (session_import_run(&im->writer, ev, &im->arena, e) ||
	    writer_append(&im->writer, &n, &ref, e))
		return err_wrap(e, "line %" PRId64, im->line);
	if (ref.repeated)
		return refuse_line(im, "its key is a duplicate", e);
	return insert_parts(im, ref.pos, ev, e);
}

static int import_event(struct import *im, const cJSON *ev, struct err *e)
{
	const char *body;

	if (strcmp(json_text(ev, "record", ""), "event") != 0)
		return refuse_line(im, "expected {\"record\":\"event\",…}", e);
	if (member_json(im, "$.body", &body, e))
		return -1;
	if (body &&
	    event_body_check(json_text(ev, "type", "unknown"),
			     cJSON_GetObjectItemCaseSensitive(ev, "body"), e))
		return err_wrap(e, "line %" PRId64, im->line);
	return append_event(im, ev, body, e);
}

/* The id in the file, if it is valid and not in use here. */
static int free_sid(struct agent_file *f, const char *sid, bool *usable,
		    struct err *e)
{
	struct session_row s;
	struct arena a = {0};
	int found;

	*usable = false;
	if (!sid || !id_is(ID_SESSION, sid))
		return 0;
	found = sql_get(f->db, Q_SESSION_BY_SID,
			&(struct session_by_sid_in){sid}, &s, &a, e);
	*usable = found == 0;
	arena_fini(&a);
	return found < 0 ? -1 : 0;
}

static int make_session(struct import *im, const char *key, const cJSON *head,
			const char *meta, struct err *e)
{
	struct session_new n = {
		.key = key ? key : json_text(head, "key", ""),
		.sid = json_text(head, "id", NULL),
		.status = json_text(head, "status", NULL),
		.kind = json_text(head, "kind", "import"),
		.created_at = json_i64(head, "created_at", 0),
		.title = json_text(head, "title", NULL),
		.model = json_text(head, "model", NULL),
		.source = json_text(head, "source", NULL),
		.parent = json_text(head, "parent", NULL),
		.meta = meta,
	};
	struct session_row row;
	struct arena a = {0};
	bool usable, mine;
	int rc = free_sid(im->file, n.sid, &usable, e);

	if (!usable)
		n.sid = NULL;
	if (!rc)
		rc = session_ensure(im->file, &n, &row, &a, e);
	mine = rc == 0 && im->may_go_on && !strcmp(row.kind, "import") &&
	       same_text(row.source, n.source);
	arena_fini(&a);
	if (rc < 0)
		return err_wrap(e, "line 1");
	if (rc == 0 && !mine)
		return err_set(e, ERR_CONFLICT, "session '%s' already exists",
			       quoted(n.key).text);
	if (writer_open(&im->writer, im->file, n.key, NULL, e))
		return -1;
	im->there = rc ? 0 : im->writer.tail;
	return 0;
}

static int import_head(struct import *im, const char *key, const cJSON *head,
		       struct session_import_result *out, struct err *e)
{
	const char *meta;

	if (strcmp(json_text(head, "record", ""), "session") != 0)
		return refuse_line(im, "expected {\"record\":\"session\",…}",
				   e);
	if (json_i64(head, "version", 1) > 1)
		return err_set(e, ERR_VERSION,
			       "line 1: the file has version %" PRId64
			       ", this skep reads version 1",
			       json_i64(head, "version", 1));
	if (member_json(im, "$.meta", &meta, e) ||
	    make_session(im, key, head, meta, e))
		return -1;
	im->leaf = json_i64(head, "leaf", OPT_NONE);
	snprintf(out->key, sizeof out->key, "%s",
		 key ? key : json_text(head, "key", ""));
	snprintf(out->sid, sizeof out->sid, "%s", im->writer.sid);
	return 0;
}

static int import_line(struct import *im, const char *key, const char *text,
		       size_t n, struct session_import_result *out,
		       struct err *e)
{
	char what[32];
	cJSON *v;
	int rc;

	im->line++;
	if (n == 0)
		return 0;
	snprintf(what, sizeof what, "line %" PRId64, im->line);
	v = json_parse_object(what, text, n, e);
	if (!v)
		return -1;
	im->text = arena_textn(&im->arena, text, n);
	rc = im->writer.session == 0 ? import_head(im, key, v, out, e)
				     : import_event(im, v, e);
	cJSON_Delete(v);
	arena_reset(&im->arena);
	return rc;
}

static int set_leaf(struct import *im, struct err *e)
{
	int64_t leaf = im->leaf == OPT_NONE ? -1
					    : renumber(&im->numbers, im->leaf);

	if (leaf < 0)
		return 0;
	return sql_exec(im->file->db, Q_SESSION_SET_LEAF,
			&(struct session_set_leaf_in){im->writer.session, leaf,
						      clock_now()},
			e) < 0
		       ? -1
		       : 0;
}

static int import_all(struct import *im, const char *key,
		      session_line_source *next, void *ctx,
		      struct session_import_result *out, struct err *e)
{
	const char *text;
	size_t n;
	int got;

	while ((got = next(&text, &n, ctx, e)) > 0)
		if (import_line(im, key, text, n, out, e))
			return -1;
	if (got < 0)
		return -1;
	if (im->writer.session == 0)
		return err_set(e, ERR_INVALID, "the input is empty");
	return set_leaf(im, e);
}

static int import(struct import *im, const char *key, session_line_source *next,
		  void *ctx, struct session_import_result *out, struct err *e)
{
	struct sql *db = im->file->db;
	int rc = sql_enter(db, e);

	*out = (struct session_import_result){0};
	if (!rc)
		rc = sql_leave(db, import_all(im, key, next, ctx, out, e), e);
	out->events = (int64_t)im->numbers.n;
	out->added = out->events > im->there ? out->events - im->there : 0;
	free(im->numbers.old);
	arena_fini(&im->arena);
	return rc;
}

int session_import_lines(struct agent_file *f, const char *key,
			 session_line_source *next, void *ctx,
			 struct session_import_result *out, struct err *e)
{
	struct import im = {.file = f};

	return import(&im, key, next, ctx, out, e);
}

int session_import_continue(struct agent_file *f, const char *key,
			    session_line_source *next, void *ctx,
			    struct session_import_result *out, struct err *e)
{
	struct import im = {.file = f, .may_go_on = true};

	return import(&im, key, next, ctx, out, e);
}
