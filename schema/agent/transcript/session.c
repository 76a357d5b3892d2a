#include "schema/agent/transcript/session.h"

#include "lib/base/clock.h"
#include "lib/base/id.h"
#include "lib/base/text.h"
#include "lib/json/json.h"
#include "schema/vocab.h"

#include <inttypes.h>
#include <string.h>

int session_get(struct agent_file *f, const char *key, struct session_row *row,
		struct arena *a, struct err *e)
{
	int found;

	if (text_check_key("session key", key, SESSION_KEY_MAX, e))
		return -1;
	found = sql_get(f->db, Q_SESSION_BY_KEY,
			&(struct session_by_key_in){key}, row, a, e);
	if (found == 0 && id_is(ID_SESSION, key))
		found = sql_get(f->db, Q_SESSION_BY_SID,
				&(struct session_by_sid_in){key}, row, a, e);
	if (found == 1 && !row->key) /* deleted; visible only to forks */
		found = 0;
	return found;
}

int session_need(struct agent_file *f, const char *key, struct session_row *row,
		 struct arena *a, struct err *e)
{
	int found = session_get(f, key, row, a, e);

	if (found == 0)
		return err_set(e, ERR_NOTFOUND,
			       "agent '%s' has no session '%s'", f->agent,
			       quoted(key).text);
	return found < 0 ? -1 : 0;
}

static int check_meta(const char *meta, struct err *e)
{
	cJSON *v;

	if (!meta)
		return 0;
	if (strlen(meta) > SESSION_META_MAX)
		return err_set(e, ERR_TOOBIG,
			       "the metadata of the session is larger than "
			       "%u bytes",
			       SESSION_META_MAX);
	v = json_parse_object("session meta", meta, strlen(meta), e);
	if (!v)
		return -1;
	cJSON_Delete(v);
	return 0;
}

static int check_words(const char *status, const char *kind, struct err *e)
{
	return vocab_check("session.status", status, e) ||
			       vocab_check("session.kind", kind, e)
		       ? -1
		       : 0;
}

static int insert(struct agent_file *f, const struct session_new *s,
		  struct session_row *row, struct arena *a, struct err *e)
{
	struct id id = id_new(ID_SESSION);
	struct session_insert_in in = {
		.sid = s->sid ? s->sid : id.text,
		.key = s->key,
		.status = s->status ? s->status : "active",
		.kind = s->kind ? s->kind : "chat",
		.is_ephemeral = s->is_ephemeral,
		.title = s->title,
		.model = s->model,
		.source = s->source,
		.parent = s->parent,
		.base = OPT_NONE,
		.meta = s->meta ? s->meta : "{}",
		.now = s->created_at ? s->created_at : clock_now(),
	};

	if (check_words(in.status, in.kind, e) ||
	    sql_exec(f->db, Q_SESSION_INSERT, &in, e) < 0 ||
	    session_need(f, s->key, row, a, e))
		return -1;
	return 1;
}

static int ensure(struct agent_file *f, const struct session_new *s,
		  struct session_row *row, struct arena *a, struct err *e)
{
	int found = session_get(f, s->key, row, a, e);

	if (found != 0)
		return found < 0 ? -1 : 0;
	return insert(f, s, row, a, e);
}

int session_ensure(struct agent_file *f, const struct session_new *s,
		   struct session_row *row, struct arena *a, struct err *e)
{
	if (text_check_key("session key", s->key, SESSION_KEY_MAX, e) ||
	    check_meta(s->meta, e) || sql_enter(f->db, e))
		return -1;
	return sql_leave(f->db, ensure(f, s, row, a, e), e);
}

static int write_row(struct agent_file *f, const struct session_row *row,
		     struct err *e)
{
	struct session_update_in in = {
		.id = row->id,
		.rev = row->rev,
		.status = row->status,
		.kind = row->kind,
		.is_ephemeral = row->is_ephemeral,
		.title = row->title,
		.model = row->model,
		.source = row->source,
		.parent = row->parent,
		.meta = row->meta,
		.workspace = row->workspace,
		.now = clock_now(),
	};

	if (check_words(in.status, in.kind, e))
		return -1;
	return sql_exec(f->db, Q_SESSION_UPDATE, &in, e);
}

static int merge_meta(struct agent_file *f, int64_t id, const char *patch,
		      struct err *e)
{
	return sql_exec(f->db, Q_SESSION_MERGE_META,
			&(struct session_merge_meta_in){
				.id = id, .patch = patch, .now = clock_now()},
			e) < 0
		       ? -1
		       : 0;
}

/* Members of a patch that are text columns, and whether null clears them. */
static const struct {
	const char *name;
	size_t offset;
	bool nullable;
} patchable[] = {
	{"status", offsetof(struct session_row, status), false},
	{"kind", offsetof(struct session_row, kind), false},
	{"title", offsetof(struct session_row, title), true},
	{"model", offsetof(struct session_row, model), true},
	{"source", offsetof(struct session_row, source), true},
	{"parent", offsetof(struct session_row, parent), true},
	{"workspace", offsetof(struct session_row, workspace), true},
};

static int patch_member(struct session_row *row, const cJSON *v, struct err *e)
{
	for (size_t i = 0; i < sizeof patchable / sizeof patchable[0]; i++) {
		const char **at = (const char **)(void *)((char *)row +
							  patchable[i].offset);

		if (strcmp(patchable[i].name, v->string) != 0)
			continue;
		if (!cJSON_IsString(v) &&
		    !(cJSON_IsNull(v) && patchable[i].nullable))
			return err_set(e, ERR_INVALID,
				       "session patch: %s must be a string%s",
				       v->string,
				       patchable[i].nullable ? " or null" : "");
		*at = cJSON_IsNull(v) ? NULL : v->valuestring;
		return 0;
	}
	if (!strcmp(v->string, "ephemeral")) {
		row->is_ephemeral = cJSON_IsTrue(v);
		return cJSON_IsBool(v)
			       ? 0
			       : err_set(e, ERR_INVALID,
					 "session patch: ephemeral must be "
					 "true or false");
	}
	if (!strcmp(v->string, "meta")) /* SQLite merges it */
		return cJSON_IsObject(v) ? 0
					 : err_set(e, ERR_INVALID,
						   "session patch: meta must "
						   "be an object");
	return err_set(e, ERR_INVALID,
		       "session patch: '%s' is not a member that can be set "
		       "(status, kind, title, model, source, parent, "
		       "workspace, ephemeral, meta)",
		       quoted(v->string).text);
}

/* Merges the member "meta" of the patch, if there is one. */
static int patch_meta(struct agent_file *f, int64_t id, const char *patch,
		      struct arena *a, struct err *e)
{
	struct json_member_row meta = {0};

	if (sql_get(f->db, Q_JSON_MEMBER,
		    &(struct json_member_in){patch, "$.meta"}, &meta, a, e) < 0)
		return -1;
	return meta.text ? merge_meta(f, id, meta.text, e) : 0;
}

static int apply_patch(struct session_row *row, const cJSON *patch,
		       int64_t if_rev, struct err *e)
{
	const cJSON *v;

	if (if_rev > 0 && if_rev != row->rev)
		return err_set(e, ERR_CONFLICT,
			       "session '%s' is at revision %" PRId64
			       ", not %" PRId64 "; read it again",
			       quoted(row->key).text, row->rev, if_rev);
	cJSON_ArrayForEach(v, patch) if (patch_member(row, v, e)) return -1;
	return 0;
}

/* A name that is set must be that of a namespace. */
static int check_workspace(struct agent_file *f, const cJSON *patch,
			   struct err *e)
{
	const char *name = json_text(patch, "workspace", NULL);
	struct workspace_created_in key = {name};
	struct workspace_created_row row;
	int found = name ? sql_get(f->db, Q_WORKSPACE_CREATED, &key, &row, NULL,
				   e)
			 : 1;

	if (found == 0 || (name && name[0] == '.'))
		return err_set(e, ERR_INVALID,
			       "session patch: agent '%s' has no namespace "
			       "'%s'",
			       f->agent, quoted(name).text);
	return found < 0 ? -1 : 0;
}

static int patch_in_transaction(struct agent_file *f, const char *key,
				const char *text, const cJSON *patch,
				int64_t if_rev, struct err *e)
{
	struct session_row row;
	struct arena a = {0};
	int rc = session_need(f, key, &row, &a, e);

	if (!rc)
		rc = apply_patch(&row, patch, if_rev, e);
	if (!rc)
		rc = check_workspace(f, patch, e);
	if (!rc && write_row(f, &row, e) < 0)
		rc = -1;
	if (!rc)
		rc = patch_meta(f, row.id, text, &a, e);
	arena_fini(&a);
	return rc;
}

int session_patch(struct agent_file *f, const char *key, const char *patch,
		  int64_t if_rev, struct session_row *row, struct arena *a,
		  struct err *e)
{
	cJSON *p;
	int rc;

	if (strlen(patch) > SESSION_META_MAX)
		return err_set(e, ERR_TOOBIG,
			       "the session patch is larger than %u bytes",
			       SESSION_META_MAX);
	p = json_parse_object("session patch", patch, strlen(patch), e);
	if (!p)
		return -1;
	rc = sql_enter(f->db, e);
	if (!rc) {
		rc = patch_in_transaction(f, key, patch, p, if_rev, e);
		if (!rc)
			rc = session_need(f, key, row, a, e);
		rc = sql_leave(f->db, rc, e);
	}
	cJSON_Delete(p);
	return rc;
}

int session_keep_workspace(struct agent_file *f, int64_t session, int64_t run,
			   const char *name, struct err *e)
{
	struct session_keep_workspace_in in = {session, run, name, clock_now()};

	return sql_exec(f->db, Q_SESSION_KEEP_WORKSPACE, &in, e) < 0 ? -1 : 0;
}

int session_grant(struct agent_file *f, int64_t session, const char *tool,
		  const char *pattern, const char *decision, struct err *e)
{
	struct grant_put_in in = {session, tool, pattern ? pattern : "*",
				  decision, clock_now()};

	if (text_check_key("tool", tool, 256, e) ||
	    vocab_check("permission_grant.decision", decision, e))
		return -1;
	return sql_exec(f->db, Q_GRANT_PUT, &in, e) < 0 ? -1 : 0;
}

int session_grants(struct agent_file *f, int64_t session,
		   struct grant_row **rows, struct arena *a, struct err *e)
{
	return sql_collect(f->db, Q_GRANT_LIST,
			   &(struct grant_list_in){session}, 10000, rows, a, e);
}
