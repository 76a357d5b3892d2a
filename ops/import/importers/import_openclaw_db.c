/*
 * OpenClaw: openclaw-agent.sqlite and openclaw.sqlite of all versions. The rows
 * of a transcript are the same in all; the location of its key changed:
 * session_entries at first, sessions and session_windows later, session_nodes
 * since version 14, of which one window is the current one.
 */
#include "ops/import/importer.h"

#include "lib/base/hash.h"
#include "schema/agent/artifact.h"
#include "vfs/core/path.h"
#include "vfs/core/vfs.h"

#include <string.h>

/* --- sessions --------------------------------------------------------------------- */

/* The row of a table whose column is the id, or NULL; the caller frees it. */
static cJSON *row_where(struct sql *db, const char *table, const char *column,
			const char *id)
{
	struct err ignored;
	cJSON *rows = source_has_table(db, table)
			      ? source_rows(db, table, column, id, "rowid",
					    &ignored)
			      : NULL;
	cJSON *row = cJSON_DetachItemFromArray(rows, 0);

	cJSON_Delete(rows);
	return row;
}

/* The entry, {"sessionId": …}, that names the transcript. */
static cJSON *old_entry(struct sql *db, const char *id)
{
	struct err ignored;
	cJSON *rows = source_has_table(db, "session_entries")
			      ? source_rows(db, "session_entries", NULL, NULL,
					    "rowid", &ignored)
			      : NULL;
	cJSON *found = NULL;
	const cJSON *r;

	cJSON_ArrayForEach(r, rows)
	{
		cJSON *entry = source_value(source_pick(r, "entry_json"));

		if (!found && !strcmp(source_text(entry, "sessionId", ""), id))
			found = cJSON_Duplicate(r, true);
		cJSON_Delete(entry);
	}
	cJSON_Delete(rows);
	return found;
}

static void add_row(cJSON *about, const char *name, cJSON *row)
{
	if (row)
		cJSON_AddItemToObject(about, name, row);
}

/* The key belongs to the current transcript; earlier ones append their id. */
static const char *key_of(struct import_run *m, const cJSON *about,
			  const char *id)
{
	const cJSON *window = source_pick(about, "window");
	const cJSON *node = source_pick(about, "node|entry");
	const char *key = source_text(window ? window : node, "session_key",
				      NULL);
	bool current = !window ||
		       !strcmp(source_text(node, "current_session_id", id), id);

	if (!key)
		return id;
	return current ? arena_text(&m->arena, key)
		       : arena_printf(&m->arena, "%s@%s", key, id);
}

static cJSON *about_session(struct sql *db, const char *id)
{
	cJSON *about = cJSON_CreateObject();
	cJSON *window = row_where(db, "session_windows", "session_id", id);
	const char *key;

	if (!window)
		window = row_where(db, "sessions", "session_id", id);
	key = source_text(window, "session_key", NULL);
	if (key)
		add_row(about, "node",
			row_where(db, "session_nodes", "session_key", key));
	add_row(about, "window", window);
	if (!source_pick(about, "node"))
		add_row(about, "entry", old_entry(db, id));
	return about;
}

static struct source_session describe(struct import_run *m, const char *agent,
				      const char *id, const cJSON *about)
{
	const cJSON *window = source_pick(about, "window");
	const cJSON *node = source_pick(about, "node|entry");
	cJSON *entry = source_value(source_pick(node, "entry_json"));
	const char *title = source_text(node, "display_name|label", NULL);
	struct source_session p = {
		.importer = "openclaw",
		.part = arena_text(&m->arena, id),
		.agent = agent,
		.key = key_of(m, about, arena_text(&m->arena, id)),
		.title = arena_text(
			&m->arena,
			title ? title
			      : source_text(entry, "displayName|label|subject",
					    NULL)),
		.model = arena_text(
			&m->arena,
			source_text(window, "model",
				    source_text(entry, "model", NULL))),
		.created_at = source_time(source_pick(window, "created_at")),
		.archived = source_pick(node, "archived_at"),
		.row = about,
	};

	cJSON_Delete(entry);
	return p;
}

static int one_session(struct import_run *m, struct sql *db, const char *agent,
		       const char *id, struct err *e)
{
	cJSON *about = about_session(db, id), *rows;
	struct source_session p = describe(m, agent, id, about);
	int rc = import_session(m, &p, e);
	struct err why;
	const cJSON *r;

	cJSON_Delete(about);
	if (rc <= 0)
		return rc;
	rows = source_rows(db, "transcript_events", "session_id", id, "seq",
			   &why);
	cJSON_ArrayForEach(r, rows)
	{
		cJSON *v = source_value(source_pick(r, "event_json|event"));

		import_openclaw_line(m, cJSON_IsObject(v) ? v : r,
				     source_time(source_pick(r, "created_at")));
		cJSON_Delete(v);
	}
	cJSON_Delete(rows);
	return import_session_end(m, rows ? NULL : why.text, e);
}

/* --- bytes: artifacts, media, files ---------------------------------------------------- */

/* The columns from which an artifact is made. */
struct bytes {
	const char *table, *kind;
	const char *name, *more; /* the name is both, with a '/' */
	const char *blob, *mime;
};

static const struct bytes artifacts[] = {
	{"tool_artifacts", "tool", "run_id", "artifact_id", "blob", NULL},
	{"run_artifacts", "run", "run_id", "path", "blob", NULL},
	{"media_blobs", "media", "subdir", "id", "blob", "content_type"},
};

struct table_importer {
	struct sql *db;
	const char *table;
	const struct bytes *how; /* NULL: files of a workspace */
	const char *space;
};

static int put_bytes(struct import_run *m, const struct bytes *how,
		     const cJSON *row, struct agent_file *f, bool *added,
		     struct err *e)
{
	const char *name = arena_printf(&m->arena, "%s/%s",
					source_text(row, how->name, ""),
					source_text(row, how->more, ""));
	struct artifact_key key = artifact_key_named("openclaw", how->kind,
						     name);
	struct artifact_about about = {
		.mime = how->mime ? source_text(row, how->mime, NULL) : NULL,
		.meta = source_text(row, "metadata_json", NULL)};
	struct buf b = BUF_MAX(SOURCE_MAX);
	struct artifact_row there;
	char sha256[HASH_HEX];
	int found, rc = 0;

	source_bytes(&b, source_pick(row, how->blob));
	hash_of(b.p, b.n, sha256);
	found = artifact_find(f->db, &key, &there, &m->arena, e);
	*added = found == 0 || (found > 0 && strcmp(there.sha256, sha256) != 0);
	if (found >= 0 && *added)
		rc = artifact_put(f->db, &key, &about, (struct blob){b.p, b.n},
				  NULL, e);
	buf_fini(&b);
	return found < 0 ? -1 : rc;
}

static int put_all(struct import_run *m, const struct bytes *how,
		   const cJSON *rows, struct agent_file *f, int64_t *added,
		   struct err *e)
{
	const cJSON *r;
	int rc = 0;

	*added = 0;
	cJSON_ArrayForEach(r, rows)
	{
		bool now = false;

		if (!rc)
			rc = put_bytes(m, how, r, f, &now, e);
		*added += now;
	}
	return rc;
}

static int put_file(struct vfs *v, const cJSON *row, struct err *e)
{
	const char *path = source_text(row, "path", "");
	struct vfs_put how = {.parents = true};
	struct buf b = BUF_MAX(SOURCE_MAX);
	int rc;

	if (!strncmp(source_text(row, "kind", "file"), "dir", 3))
		return vfs_mkdir(v, path, 0755, true, e);
	source_bytes(&b, source_pick(row, "content_blob|content"));
	rc = vfs_write_file(v, path, (struct blob){b.p, b.n}, &how, e);
	buf_fini(&b);
	return rc;
}

static int put_files(const cJSON *rows, const char *space, struct agent_file *f,
		     struct err *e)
{
	struct vfs *v = NULL;
	struct err known;
	const cJSON *r;
	int rc;

	/* it exists: its files are overwritten, nothing is duplicated */
	(void)vfs_create(f->db, space, NULL, &known);
	rc = vfs_open(&v, f->db, space, "migrate", e);
	cJSON_ArrayForEach(r, rows)
	{
		if (!rc && put_file(v, r, e))
			rc = err_wrap(e, "%s", source_text(r, "path", ""));
	}
	vfs_close(v);
	return rc;
}

static int import_table(struct import_run *m, void *arg, struct agent_file *f,
			struct import_item *p, struct err *e)
{
	const struct table_importer *t = arg;
	cJSON *rows = source_rows(t->db, t->table,
				  t->space ? "namespace" : NULL, t->space,
				  t->space ? "path" : "rowid", e);
	int rc = rows ? 0 : -1;

	p->records = p->added = cJSON_GetArraySize(rows);
	if (!rc && f)
		rc = t->space ? put_files(rows, t->space, f, e)
			      : put_all(m, t->how, rows, f, &p->added, e);
	cJSON_Delete(rows);
	return rc;
}

static int all_bytes(struct import_run *m, struct sql *db, const char *agent,
		     struct err *e)
{
	for (size_t i = 0; i < sizeof artifacts / sizeof artifacts[0]; i++) {
		struct table_importer t = {db, artifacts[i].table,
					   &artifacts[i], NULL};
		struct item_options options = {.importer = "openclaw",
					       .part = t.table,
					       .agent = agent,
					       .take = import_table,
					       .arg = &t};

		options.target = arena_printf(&m->arena, "%s artifacts %s",
					      agent, t.table);
		if (source_has_table(db, t.table) &&
		    source_count(db, t.table) > 0 &&
		    import_once(m, &options, e))
			return -1;
	}
	return 0;
}

static int all_spaces(struct import_run *m, struct sql *db, const char *agent,
		      struct err *e)
{
	cJSON *names = source_has_table(db, "vfs_entries")
			       ? source_values(db, "vfs_entries", "namespace",
					       e)
			       : NULL;
	const cJSON *n;
	int rc = 0;

	cJSON_ArrayForEach(n, names)
	{
		struct table_importer t = {db, "vfs_entries", NULL,
					   n->valuestring};
		struct item_options options = {.importer = "openclaw",
					       .agent = agent,
					       .take = import_table,
					       .arg = &t};

		options.part = arena_printf(&m->arena, "vfs_entries/%s",
					    n->valuestring);
		options.target = arena_printf(&m->arena, "%s:%s", agent,
					      n->valuestring);
		if (!rc)
			rc = import_once(m, &options, e);
	}
	cJSON_Delete(names);
	return rc;
}

/* --- which is it? ------------------------------------------------------------------------- */

/* Its own value, or agents/NAME/agent/openclaw-agent.sqlite. */
static const char *agent_of(struct import_run *m, struct sql *db)
{
	cJSON *meta = row_where(db, "schema_meta", "meta_key", "primary");
	const char *name = arena_text(&m->arena,
				      source_text(meta, "agent_id", NULL));

	cJSON_Delete(meta);
	if (!name && !strcmp(path_above(&m->arena, m->file->path, 0), "agent"))
		name = path_above(&m->arena, m->file->path, 1);
	return import_agent_name(m, name);
}

int import_openclaw_agent(struct import_run *m, struct sql *db, struct err *e)
{
	static const char *const imported[] = {
		"transcript_events", "transcript_event_identities",
		"session_entries",   "session_windows",
		"session_nodes",     "sessions",
		"vfs_entries",       "tool_artifacts",
		"run_artifacts",     "media_blobs",
		"schema_meta",       NULL};
	const char *agent;
	struct err why;
	cJSON *ids;
	const cJSON *id;
	int rc = 0;

	if (!source_has_table(db, "transcript_events"))
		return 0;
	agent = agent_of(m, db);
	ids = source_values(db, "transcript_events", "session_id", &why);
	if (!ids)
		import_unknown(m, "transcript_events", 0, why.text);
	cJSON_ArrayForEach(id, ids)
		rc = rc ? rc : one_session(m, db, agent, id->valuestring, e);
	cJSON_Delete(ids);
	if (rc || all_bytes(m, db, agent, e) || all_spaces(m, db, agent, e))
		return -1;
	import_report_rest(m, db, imported);
	return 1;
}

int import_openclaw_state(struct import_run *m, struct sql *db, struct err *e)
{
	static const char *const imported[] = {"media_blobs", "schema_meta",
					       NULL};

	if (!path_ends(m->file->path, "/openclaw.sqlite") &&
	    !(source_has_table(db, "agent_databases") &&
	      source_has_table(db, "import_runs")))
		return 0;
	if (all_bytes(m, db, import_agent_name(m, NULL), e))
		return -1;
	import_report_rest(m, db, imported);
	return 1;
}
