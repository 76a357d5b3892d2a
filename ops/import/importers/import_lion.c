/*
 * Lion: state.db, whose branches are orders over one pool of messages; run
 * directories, whose branches have their messages with them; teams, whose members
 * write to each other.
 */
#include "ops/import/importer.h"

#include <string.h>

/* --- state.db ----------------------------------------------------------------------- */

static const cJSON *first_row(cJSON *rows)
{
	return cJSON_GetArrayItem(rows, 0);
}

static void add_node(struct import_run *m, struct sql *db, const char *id,
		     const char **broken)
{
	struct err e;
	cJSON *found = source_rows(db, "messages", "id", id, "rowid", &e);
	const cJSON *row = first_row(found);

	if (row)
		import_message_row(m, row, source_pick(row, "content"), NULL);
	else
		*broken = "a message of its progression is not there";
	cJSON_Delete(found);
}

static const char *add_progression(struct import_run *m, struct sql *db,
				   const char *id)
{
	struct err e;
	cJSON *rows = source_rows(db, "progressions", "id", id, "rowid", &e);
	cJSON *order = source_value(
		source_pick(first_row(rows), "collection|order"));
	const char *broken = cJSON_IsArray(order)
				     ? NULL
				     : "its progression cannot be read";
	const cJSON *v;

	cJSON_ArrayForEach(v, order)
	{
		if (cJSON_IsString(v))
			add_node(m, db, v->valuestring, &broken);
	}
	cJSON_Delete(order);
	cJSON_Delete(rows);
	return broken;
}

static int one_branch(struct import_run *m, struct sql *db, const cJSON *r,
		      struct err *e)
{
	struct source_session p = {
		.importer = "lion",
		.key = source_id(r, "id", &m->arena),
		.title = arena_text(&m->arena, source_text(r, "name", NULL)),
		.model = arena_text(&m->arena, source_text(r, "model", NULL)),
		.created_at = source_time(source_pick(r, "created_at")),
		.row = r,
	};
	int rc;

	p.part = p.key;
	rc = import_session(m, &p, e);
	if (rc > 0)
		rc = import_session_end(
			m,
			add_progression(m, db,
					source_text(r, "progression_id", "")),
			e);
	return rc;
}

/* A session whose branches were imported has nothing else to import. */
static bool has_branches(const cJSON *branches, const cJSON *session)
{
	const char *id = source_text(session, "id", "");
	const cJSON *b;

	cJSON_ArrayForEach(b, branches)
	{
		if (!strcmp(source_text(b, "session_id", ""), id))
			return true;
	}
	return false;
}

static int one_team_rows(struct import_run *m, struct sql *db, const cJSON *t,
			 struct err *e)
{
	const char *id = source_id(t, "id", &m->arena);
	struct source_session p = {
		.importer = "lion",
		.part = arena_printf(&m->arena, "team/%s", id),
		.title = arena_text(&m->arena, source_text(t, "name", NULL)),
		.created_at = source_time(source_pick(t, "created_at")),
		.row = t,
	};
	struct err why;
	cJSON *rows, *r;
	int rc;

	p.key = p.part;
	rc = import_session(m, &p, e);
	if (rc <= 0)
		return rc;
	rows = source_rows(db, "team_messages", "team_id", id,
			   "created_at, rowid", &why);
	cJSON_ArrayForEach(r, rows)
	{
		cJSON_DeleteItemFromObjectCaseSensitive(r, "read_by");
		import_message_row(m, r, source_pick(r, "content"), NULL);
	}
	cJSON_Delete(rows);
	return import_session_end(m, rows ? NULL : why.text, e);
}

typedef int row_fn(struct import_run *m, struct sql *db, const cJSON *r,
		   struct err *e);

/* Each row of the table, except for sessions that `branches` replace. */
static int each_row(struct import_run *m, struct sql *db, const char *table,
		    const cJSON *branches, row_fn *fn, struct err *e)
{
	struct err why;
	cJSON *rows = source_has_table(db, table)
			      ? source_rows(db, table, NULL, NULL, "rowid",
					    &why)
			      : cJSON_CreateArray();
	const cJSON *r;
	int rc = 0;

	if (!rows)
		import_unknown(m, table, 0, why.text);
	cJSON_ArrayForEach(r, rows)
	{
		if (rc >= 0 && !has_branches(branches, r))
			rc = fn(m, db, r, e);
	}
	cJSON_Delete(rows);
	return rc < 0 ? -1 : 0;
}

int import_lion(struct import_run *m, struct sql *db, struct err *e)
{
	static const char *const imported[] = {
		"progressions", "messages",      "branches",
		"sessions",     "message_types", "schema_meta",
		"teams",        "team_messages", NULL};
	cJSON *branches;
	struct err ignored;
	int rc;

	if (!source_has_table(db, "progressions") ||
	    !source_has_table(db, "messages"))
		return 0;
	branches = source_has_table(db, "branches")
			   ? source_rows(db, "branches", NULL, NULL, "rowid",
					 &ignored)
			   : NULL;
	rc = each_row(m, db, "branches", NULL, one_branch, e) ||
	     each_row(m, db, "sessions", branches, one_branch, e) ||
	     each_row(m, db, "teams", NULL, one_team_rows, e);
	cJSON_Delete(branches);
	if (rc)
		return -1;
	import_report_rest(m, db, imported);
	return 1;
}

/* --- run directories -------------------------------------------------------------------- */

static cJSON *read_json(const char *path)
{
	struct buf b = BUF_MAX(SOURCE_MAX);
	struct err ignored;
	cJSON *v = NULL;

	if (source_read(path, &b, &ignored) == 0)
		v = json_parse_object(path, b.p, b.n, &ignored);
	buf_fini(&b);
	return v;
}

static const cJSON *by_id(const cJSON *list, const char *id)
{
	const cJSON *v;

	cJSON_ArrayForEach(v, list)
	{
		if (!strcmp(source_text(v, "id", ""), id))
			return v;
	}
	return NULL;
}

static void add_plain(struct import_run *m, const cJSON *v)
{
	import_message_row(m, v, source_pick(v, "content"), NULL);
}

/* {"collections": […], "progression": {"order": [id, …]}}, or just the list. */
static const char *add_pile(struct import_run *m, const cJSON *pile,
			    const cJSON *list)
{
	const cJSON *order = source_pick(source_pick(pile, "progression"),
					 "order|collection");
	const cJSON *all = cJSON_IsArray(order) && order->child ? order : list;
	const char *broken = NULL;
	const cJSON *v, *found;

	cJSON_ArrayForEach(v, all)
	{
		found = cJSON_IsString(v) ? by_id(list, v->valuestring) : v;
		if (found)
			add_plain(m, found);
		else
			broken = "a message of its progression is not there";
	}
	return broken;
}

/* If state.db has a copy, that is the source: it is the newer one. */
static bool in_state_db(struct import_run *m, const char *id)
{
	const char *path = arena_printf(&m->arena, "%s/state.db",
					path_dir(&m->arena, m->file->path, 3));

	return by_id(import_sidecar(m, path, "branches"), id);
}

static int import_branch(struct import_run *m, const cJSON *root,
			 const cJSON *pile, const cJSON *list, struct err *e)
{
	const char *path = m->file->path;
	const char *run = path_above(&m->arena, path, 1);
	const char *about = arena_printf(&m->arena, "%s/run.json",
					 path_dir(&m->arena, path, 1));
	cJSON *manifest = read_json(about);
	struct source_session p = {
		.importer = "lion",
		.key = arena_printf(&m->arena, "%s/%s", run,
				    path_stem(&m->arena, path)),
		.title = arena_text(
			&m->arena,
			source_text(root, "name",
				    source_text(manifest, "kind", NULL))),
		.model = arena_text(&m->arena,
				    source_text(manifest, "model", NULL)),
		.created_at = source_time(source_pick(root, "created_at")),
		.row = manifest,
	};
	int rc;

	if (in_state_db(m, source_text(root, "id", ""))) {
		import_unknown(m, NULL, cJSON_GetArraySize(list),
			       "skipped: state.db contains this branch");
		cJSON_Delete(manifest);
		return 0;
	}
	rc = import_session(m, &p, e);
	if (rc > 0)
		rc = import_session_end(m, add_pile(m, pile, list), e);
	cJSON_Delete(manifest);
	return rc < 0 ? -1 : 0;
}

/* runs/ID/branches/NAME.json */
int import_lion_branch(struct import_run *m, struct err *e)
{
	const cJSON *pile, *list;
	cJSON *root;
	int rc = 0;

	if (strcmp(path_above(&m->arena, m->file->path, 0), "branches") != 0)
		return 0;
	root = read_json(m->file->path);
	list = pile = source_pick(root, "messages");
	if (cJSON_IsObject(pile))
		list = source_pick(pile, "collections|pile|items");
	if (cJSON_IsArray(list))
		rc = import_branch(m, root, pile, list, e) ? -1 : 1;
	cJSON_Delete(root);
	return rc;
}

/* teams/ID.json; the read marks change and are left out. */
int import_lion_team(struct import_run *m, struct err *e)
{
	struct source_session p = {.importer = "lion"};
	cJSON *root, *list, *v;
	int rc;

	if (strcmp(path_above(&m->arena, m->file->path, 0), "teams") != 0)
		return 0;
	root = read_json(m->file->path);
	list = cJSON_DetachItemFromObjectCaseSensitive(root, "messages");
	if (!cJSON_IsArray(list)) {
		cJSON_Delete(list);
		cJSON_Delete(root);
		return 0;
	}
	p.key = arena_printf(&m->arena, "team/%s",
			     path_stem(&m->arena, m->file->path));
	p.title = arena_text(&m->arena, source_text(root, "name", NULL));
	p.created_at = source_time(source_pick(root, "created_at"));
	p.row = root;
	rc = import_session(m, &p, e);
	if (rc > 0) {
		cJSON_ArrayForEach(v, list)
		{
			cJSON_DeleteItemFromObjectCaseSensitive(v, "read_by");
			add_plain(m, v);
		}
		rc = import_session_end(m, NULL, e);
	}
	cJSON_Delete(list);
	cJSON_Delete(root);
	return rc < 0 ? -1 : 1;
}
