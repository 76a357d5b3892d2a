/* Sessions: events of another program become lines in the format of
 * schema/agent/transcript/session_jsonl.h and are imported together. */
#include "ops/import/import_ledger.h"

#include "lib/base/fault.h"
#include "lib/base/text.h"
#include "schema/agent/transcript/event.h"
#include "schema/agent/transcript/session.h"
#include "schema/agent/transcript/session_jsonl.h"

#include <stdlib.h>
#include <string.h>

/* The session that is being read. */
struct import_session {
	struct source_session p;
	struct import_item item;
	struct buf lines;
	size_t at;        /* offset of the next line to import */
	const char **ids; /* of the events, to resolve parents */
	int64_t n, cap, before;
	int64_t *slots; /* hash table: number of the event with the id */
	size_t nslots;
	struct arena arena;
};

/* Other known data, as far as it fits into the session's meta. A value that is
 * too long is replaced by its length. */
static void put_row(struct buf *b, const cJSON *row)
{
	struct buf text = BUF_MAX(SESSION_META_MAX / 2);

	json_add(&text, row);
	if (text.over)
		json_put_text(b, "row", "too large");
	else
		json_put_raw(b, "row", text.p);
	buf_fini(&text);
}

static void add_head(struct import_run *m, struct import_session *s)
{
	struct buf *b = &s->lines;

	json_begin_object(b);
	json_put_text(b, "record", "session");
	json_put_int(b, "version", 1);
	json_put_text(b, "kind", "import");
	json_put_text(b, "key", s->p.key);
	json_put_text(b, "title", s->p.title);
	json_put_text(b, "model", s->p.model);
	json_put_text(b, "source", s->p.importer);
	json_put_text(b, "status", s->p.archived ? "archived" : NULL);
	if (s->p.created_at)
		json_put_int(b, "created_at", s->p.created_at);
	json_put_object(b, "meta");
	json_put_object(b, "import");
	json_put_int(b, "version", 1);
	json_put_text(b, "path", s->item.path);
	json_put_text(b, "sha256", m->file->mark.sha256);
	if (s->p.row)
		put_row(b, s->p.row);
	for (int i = 0; i < 3; i++)
		json_end_object(b);
	buf_addc(b, '\n');
}

static void session_free(struct import_run *m)
{
	if (!m->session)
		return;
	buf_fini(&m->session->lines);
	arena_fini(&m->session->arena);
	free(m->session->ids);
	free(m->session->slots);
	free(m->session);
	m->session = NULL;
}

/* Keys are one line of limited length; file names need not be. */
static const char *fit_key(struct import_run *m, const char *key)
{
	size_t n = strlen(key), at = 0;
	char *fit;

	if (n > SESSION_KEY_MAX)
		n = SESSION_KEY_MAX;
	fit = arena_textn(&m->arena, *key ? key : "unnamed", *key ? n : 7);
	while (fit[at]) {
		size_t len = text_utf8_char(fit + at, strlen(fit + at));

		if (len == 0 || (unsigned char)fit[at] < ' ' || fit[at] == 127)
			fit[at] = '_';
		at += len ? len : 1;
	}
	return fit;
}

int import_session(struct import_run *m, const struct source_session *p,
		   struct err *e)
{
	struct import_session *s = calloc(1, sizeof *s);
	int done;

	if (!s)
		abort();
	m->session = s;
	s->p = *p;
	s->p.agent = import_agent_name(m, p->agent);
	s->p.key = fit_key(m, p->key);
	buf_init(&s->lines, SOURCE_MAX);
	s->item = import_item_of(
		m, p->importer, p->part,
		arena_printf(&m->arena, "%s/%s", s->p.agent, s->p.key));
	done = import_was_done(m, &s->item, e);
	s->before = s->item.records;
	if (done == 0) {
		add_head(m, s);
		return 1;
	}
	session_free(m);
	return done < 0 ? -1 : 0;
}

/* --- events --------------------------------------------------------------------- */

static size_t slot_of(const struct import_session *s, const char *id)
{
	uint64_t h = UINT64_C(14695981039346656037);
	size_t i;

	for (const char *c = id; *c; c++)
		h = (h ^ (unsigned char)*c) * UINT64_C(1099511628211);
	i = (size_t)h & (s->nslots - 1);
	while (s->slots[i] && strcmp(s->ids[s->slots[i] - 1], id) != 0)
		i = (i + 1) & (s->nslots - 1);
	return i;
}

/* Half of the slots stay free. A repeated id belongs to the later event. */
static void remember_event(struct import_session *s, const char *id)
{
	if (s->n == s->cap) {
		s->cap = s->cap ? 2 * s->cap : 64;
		s->nslots = 2 * (size_t)s->cap;
		s->ids = realloc(s->ids, (size_t)s->cap * sizeof *s->ids);
		free(s->slots);
		s->slots = calloc(s->nslots, sizeof *s->slots);
		if (!s->ids || !s->slots)
			abort();
		for (int64_t i = 0; i < s->n; i++)
			if (s->ids[i])
				s->slots[slot_of(s, s->ids[i])] = i + 1;
	}
	s->ids[s->n++] = arena_text(&s->arena, id);
	if (id)
		s->slots[slot_of(s, id)] = s->n;
}

static int64_t number_of(const struct import_session *s, const char *id)
{
	return id && s->n ? s->slots[slot_of(s, id)] : 0;
}

bool import_id_is_valid(const char *id)
{
	struct err ignored;

	return id && text_check_key("id", id, EVENT_KEY_MAX, &ignored) == 0;
}

static void put_usage(struct buf *b, const struct source_usage *u)
{
	if (!u->input && !u->output && !u->cached && !u->cost_nano)
		return;
	json_put_object(b, "usage");
	json_put_int(b, "input", u->input);
	json_put_int(b, "output", u->output);
	json_put_int(b, "cached", u->cached);
	json_put_int(b, "cost_nano", u->cost_nano);
	json_put_text(b, "model", u->model);
	json_end_object(b);
}

void import_event(struct import_run *m, const struct source_event *ev)
{
	struct import_session *s = m->session;
	const char *id = import_id_is_valid(ev->id) ? ev->id : NULL;
	int64_t parent = number_of(s, ev->parent);
	struct buf *b = &s->lines;

	remember_event(s, id);
	json_begin_object(b);
	json_put_text(b, "record", "event");
	json_put_int(b, "seq", s->n);
	json_put_text(b, "type", ev->type);
	json_put_text(b, "id", id);
	if (parent > 0 || (ev->parent && !*ev->parent))
		json_put_int(b, "parent", parent);
	if (ev->at > 0)
		json_put_int(b, "at", ev->at);
	put_usage(b, &ev->usage);
	json_put(b, "body", ev->body);
	json_end_object(b);
	buf_addc(b, '\n');
}

/* --- taking them ------------------------------------------------------------------ */

static int next_line(const char **text, size_t *n, void *ctx, struct err *e)
{
	struct import_session *s = ctx;
	const char *from = s->lines.p + s->at;

	(void)e;
	if (s->at >= s->lines.n)
		return 0;
	*text = from;
	*n = strcspn(from, "\n");
	s->at += *n + 1;
	return 1;
}

static int import_collected(struct import_run *m, struct import_session *s,
			    struct err *e)
{
	struct session_import_result r;
	struct agent_file f;
	int rc;

	if (m->file->blocked)
		return err_set(e, ERR_BUSY, "%s", m->file->blocked);
	if (buf_ok(&s->lines, s->item.path, e))
		return -1;
	if (!m->run) {
		s->item.added = s->n > s->before ? s->n - s->before : 0;
		return 0;
	}
	if (import_open_agent(m, s->p.agent, &f, e))
		return -1;
	rc = session_import_continue(&f, s->p.key, next_line, s, &r, e);
	s->item.added = r.added;
	/* a new session without events counts, too */
	if (!rc && s->n == 0 && s->before == 0)
		s->item.state = "imported";
	agent_file_close(&f);
	return rc ? -1 : fault_point(FAULT_import_item, e);
}

int import_session_end(struct import_run *m, const char *broken, struct err *e)
{
	struct import_session *s = m->session;
	struct err why;
	int rc;

	s->item.records = s->n;
	s->item.warning = arena_text(&m->arena, broken);
	rc = import_record(m, &s->item,
			   import_collected(m, s, &why) ? why.text : NULL, e);
	session_free(m);
	return rc;
}

/* --- messages ------------------------------------------------------------------- */

static cJSON *import_message(const cJSON *row, const char *role,
			     const cJSON *content)
{
	cJSON *body = cJSON_CreateObject(), *rest = cJSON_CreateObject();
	const cJSON *v;

	cJSON_AddStringToObject(body, "role", role);
	cJSON_AddItemToObject(body, "content", source_value(content));
	cJSON_ArrayForEach(v, row)
	{
		if (v != content && !cJSON_IsNull(v) && v->string &&
		    strcmp(v->string, "role") != 0)
			cJSON_AddItemToObject(rest, v->string,
					      cJSON_Duplicate(v, true));
	}
	cJSON_AddItemToObject(body, "imported", rest);
	return body;
}

/* Maps roles to those that models support. */
static const char *role_of(const cJSON *row)
{
	static const char *const words[][2] = {
		{"agent", "assistant"}, {"character", "assistant"},
		{"ai", "assistant"},    {"bot", "assistant"},
		{"human", "user"},      {"owner", "user"}};
	const char *role = source_text(
		row, "role|sender_type|sender_role|sender|from|author", NULL);

	for (size_t i = 0; role && i < sizeof words / sizeof words[0]; i++)
		if (!strcmp(words[i][0], role))
			return words[i][1];
	return role;
}

void import_message_row(struct import_run *m, const cJSON *row,
			const cJSON *content, const char *parent)
{
	const char *role = role_of(row);
	const char *id = source_id(row, "external_id|id|message_id|uuid",
				   &m->arena);
	struct source_event ev = {
		.id = *id ? id : NULL,
		.parent = parent,
		.type = role && content ? "message" : "raw",
		.at = source_time(source_pick(
			row, "created_at|createdAt|time_created|timestamp|ts|"
			     "at|time")),
		.body = row,
	};
	cJSON *body = NULL;

	if (role && content)
		ev.body = body = import_message(row, role, content);
	import_event(m, &ev);
	cJSON_Delete(body);
}
