/*
 * Hiro: conversations as files (workspace.db is their index) or as rows of
 * data.db; agents in workspace.db, or characters in directories; the memory of
 * its agents, which is LangGraph's.
 */
#include "ops/import/importer.h"

#include "lib/os/file.h"

#include <string.h>

static const cJSON *with_id(const cJSON *rows, const char *id)
{
	const cJSON *r;

	cJSON_ArrayForEach(r, rows)
	{
		const cJSON *v = source_pick(r, "id");

		if (id && cJSON_IsString(v) && !strcmp(v->valuestring, id))
			return r;
	}
	return NULL;
}

/* The name of an agent, by its id: the id of a character is its name. */
static const char *agent_named(struct import_run *m, const char *workspace,
			       const char *id)
{
	const cJSON *row = with_id(import_sidecar(m, workspace, "agents"), id);

	return row ? arena_text(&m->arena, source_text(row, "name", id))
		   : arena_text(&m->arena, id);
}

/* --- conversations/ID.jsonl ------------------------------------------------------------ */

cJSON *import_hiro_about(struct import_run *m, struct source_session *p)
{
	const char *dir = path_dir(&m->arena, m->file->path, 1);
	const char *workspace = arena_printf(&m->arena, "%s/workspace.db", dir);
	const cJSON *row = with_id(
		import_sidecar(m, workspace, "conversation_channels"), p->key);

	if (!row)
		return NULL;
	p->title = arena_text(&m->arena, source_text(row, "name", NULL));
	p->created_at = source_time(source_pick(row, "created_at"));
	p->agent = agent_named(m, workspace,
			       source_text(row, "agent_id", NULL));
	return cJSON_Duplicate(row, true);
}

/* --- data.db --------------------------------------------------------------------------- */

static int one_channel(struct import_run *m, struct sql *db, const cJSON *r,
		       struct err *e)
{
	const char *workspace = arena_printf(
		&m->arena, "%s/workspace.db",
		path_dir(&m->arena, m->file->path, 1));
	struct source_session p = {
		.importer = "hiro",
		.key = source_id(r, "id", &m->arena),
		.agent = agent_named(
			m, workspace,
			source_text(r, "character_id|agent_id", NULL)),
		.title = arena_text(&m->arena, source_text(r, "name", NULL)),
		.created_at = source_time(source_pick(r, "created_at")),
		.row = r,
	};
	struct err why;
	cJSON *rows;
	const cJSON *v;
	int rc;

	p.part = p.key;
	rc = import_session(m, &p, e);
	if (rc <= 0)
		return rc;
	rows = source_rows(db, "messages", "channel_id", p.key, "id", &why);
	cJSON_ArrayForEach(v, rows)
		import_message_row(m, v, source_pick(v, "body|content"), NULL);
	cJSON_Delete(rows);
	return import_session_end(m, rows ? NULL : why.text, e);
}

int import_hiro_data(struct import_run *m, struct sql *db, struct err *e)
{
	static const char *const imported[] = {"channels", "messages", NULL};
	struct err why;
	cJSON *rows;
	const cJSON *r;
	int rc = 0;

	if (!source_has_table(db, "channels") ||
	    !source_has_table(db, "messages"))
		return 0;
	rows = source_rows(db, "channels", NULL, NULL, "id", &why);
	if (!rows)
		import_unknown(m, "channels", 0, why.text);
	cJSON_ArrayForEach(r, rows) rc = rc < 0 ? rc : one_channel(m, db, r, e);
	cJSON_Delete(rows);
	if (rc < 0)
		return -1;
	import_report_rest(m, db, imported);
	return 1;
}

/* --- agents ------------------------------------------------------------------------------- */

static void add_text_if_set(cJSON *def, const char *name, const char *text)
{
	if (text && *text)
		cJSON_AddStringToObject(def, name, text);
}

/* A row of workspace.db. Members without an equivalent are kept. */
static cJSON *define_row(const cJSON *r)
{
	cJSON *def = cJSON_CreateObject();

	cJSON_AddStringToObject(def, "driver", "chat");
	add_text_if_set(def, "model", source_text(r, "model", NULL));
	add_text_if_set(def, "prompt", source_text(r, "system_prompt", NULL));
	if (source_pick(r, "is_default") &&
	    source_pick(r, "is_default")->valuedouble != 0)
		cJSON_AddTrueToObject(def, "default");
	cJSON_AddItemToObject(def, "imported", cJSON_Duplicate(r, true));
	cJSON_DeleteItemFromObjectCaseSensitive(
		source_pick(def, "imported")
			? cJSON_GetObjectItem(def, "imported")
			: NULL,
		"system_prompt");
	return def;
}

static int all_agents(struct import_run *m, struct sql *db, struct err *e)
{
	struct err why;
	cJSON *rows = source_has_table(db, "agents")
			      ? source_rows(db, "agents", NULL, NULL, "rowid",
					    &why)
			      : NULL;
	const cJSON *r;
	int rc = 0;

	cJSON_ArrayForEach(r, rows)
	{
		const char *name = source_text(r, "name|id", NULL);
		cJSON *def = define_row(r);

		if (!rc && name)
			rc = import_agent(
				m, "hiro",
				arena_printf(&m->arena, "agents/%s", name),
				name, def, e);
		cJSON_Delete(def);
	}
	cJSON_Delete(rows);
	return rc;
}

/* The owner of a thread: the agent of its conversation. */
static const char *agent_of_thread(struct import_run *m, const char *thread)
{
	const char *path = m->file->path;
	const cJSON *row = with_id(
		import_sidecar(m, path, "conversation_channels"), thread);

	return row ? agent_named(m, path, source_text(row, "agent_id", NULL))
		   : NULL;
}

/* The index of characters is in their directories too. */
int import_hiro_workspace(struct import_run *m, struct sql *db, struct err *e)
{
	static const char *const imported[] = {
		"agents",      "characters", "conversation_channels",
		"checkpoints", "writes",     NULL};

	if (!source_has_table(db, "conversation_channels") &&
	    !source_has_table(db, "channel_plugins") &&
	    !source_has_table(db, "characters"))
		return 0;
	if (all_agents(m, db, e) || import_threads(m, db, agent_of_thread, e))
		return -1;
	import_report_rest(m, db, imported);
	return 1;
}

/* --- characters/ID/character.json, prompt.md, backstory.md ------------------------------------ */

static void add_character_file(struct import_run *m, struct buf *b,
			       const char *name)
{
	const char *path = arena_printf(&m->arena, "%s/%s",
					path_dir(&m->arena, m->file->path, 0),
					name);
	struct buf text = BUF_MAX(1u << 20);
	struct err ignored;

	if (file_exists(path) && !source_read(path, &text, &ignored) &&
	    text.n) {
		if (b->n)
			buf_adds(b, "\n\n");
		buf_add(b, text.p, text.n);
	}
	if (file_exists(path))
		import_add_file(m, path);
	buf_fini(&text);
}

static cJSON *define_character(struct import_run *m, const cJSON *v)
{
	cJSON *def = cJSON_CreateObject();
	const cJSON *model = cJSON_GetArrayItem(source_pick(v, "llm_models"),
						0);
	struct buf prompt = BUF_MAX(2u << 20);

	cJSON_AddStringToObject(def, "driver", "chat");
	if (cJSON_IsString(model))
		add_text_if_set(def, "model", model->valuestring);
	add_character_file(m, &prompt, "prompt.md");
	add_character_file(m, &prompt, "backstory.md");
	add_text_if_set(def, "prompt", prompt.p);
	cJSON_AddItemToObject(def, "imported", cJSON_Duplicate(v, true));
	buf_fini(&prompt);
	return def;
}

int import_hiro_character(struct import_run *m, struct err *e)
{
	const char *path = m->file->path;
	struct buf b = BUF_MAX(1u << 20);
	struct err why;
	cJSON *v = NULL, *def;
	int rc;

	if (!path_ends(path, "/character.json") ||
	    strcmp(path_above(&m->arena, path, 1), "characters") != 0)
		return 0;
	if (!source_read(path, &b, &why))
		v = json_parse_object("character.json", b.p, b.n, &why);
	buf_fini(&b);
	if (!v) {
		import_unknown(m, NULL, 0, why.text);
		return 1;
	}
	def = define_character(m, v);
	rc = import_agent(m, "hiro", NULL, path_above(&m->arena, path, 0), def,
			  e);
	cJSON_Delete(def);
	cJSON_Delete(v);
	return rc ? -1 : 1;
}
