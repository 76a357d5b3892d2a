/* OpenClaw: transcripts as files and as rows, the index beside them, and the
 * agents of its configuration. */
#include "ops/import/importer.h"

#include "lib/os/file.h"
#include "ops/import/importers/json5.h"

#include <string.h>

/* --- one event -------------------------------------------------------------------- */

static bool is_envelope(const char *name)
{
	static const char *const known[] = {"type", "id", "parentId",
					    "timestamp", "message"};

	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
		if (!strcmp(known[i], name))
			return true;
	return false;
}

/* The message, with members of its envelope that have no equivalent. */
static cJSON *body_of(const cJSON *v, const cJSON *inner)
{
	cJSON *body = cJSON_Duplicate(inner, true), *rest;
	const cJSON *x;

	rest = cJSON_CreateObject();
	cJSON_ArrayForEach(x, v)
	{
		bool other_id = !strcmp(x->string, "id") &&
				!import_id_is_valid(source_text(v, "id", NULL));

		if (!is_envelope(x->string) || other_id)
			cJSON_AddItemToObject(rest, x->string,
					      cJSON_Duplicate(x, true));
	}
	if (rest->child)
		cJSON_AddItemToObject(body, "imported", rest);
	else
		cJSON_Delete(rest);
	return body;
}

static double number_member(const cJSON *obj, const char *name)
{
	const cJSON *v = source_pick(obj, name);

	return cJSON_IsNumber(v) ? v->valuedouble : 0;
}

/* {"input":…,"output":…,"cacheRead":…,"cost":{"total": dollars}} */
static struct source_usage usage_of(const cJSON *message)
{
	const cJSON *u = source_pick(message, "usage");

	return (struct source_usage){
		.model = source_text(message, "model", NULL),
		.input = (int64_t)number_member(u, "input"),
		.output = (int64_t)number_member(u, "output"),
		.cached = (int64_t)number_member(u, "cacheRead"),
		.cost_nano = (int64_t)(number_member(source_pick(u, "cost"),
						     "total") *
					       1e9 +
				       0.5),
	};
}

/* {"type":"message","id":…,"parentId":…,"timestamp":…,"message":{…}}; `at` is
 * the time if it has none. {"type":"leaf","targetId":…} switches to another
 * branch: later events follow the target. */
void import_openclaw_line(struct import_run *m, const cJSON *v, int64_t at)
{
	const char *type = source_text(v, "type", "raw");
	const cJSON *inner = source_pick(v, "message");
	bool leaf = !strcmp(type, "leaf");
	struct source_event ev = {
		.id = source_text(v, "id", NULL),
		.parent = source_text(
			v, leaf ? "targetId|parentId" : "parentId",
			cJSON_IsNull(cJSON_GetObjectItem(v, "parentId"))
				? ""
				: NULL),
		.type = "raw",
		.at = source_time(source_pick(v, "timestamp")),
		.body = v,
	};
	cJSON *body = NULL;

	if (ev.at == 0)
		ev.at = at;
	if (!strcmp(type, "message") && cJSON_IsObject(inner)) {
		ev.type = !strcmp(source_text(inner, "role", ""), "toolResult")
				  ? "tool_result"
				  : "message";
		ev.body = body = body_of(v, inner);
		ev.usage = usage_of(inner);
	} else if (!strcmp(type, "compaction")) {
		ev.type = "compaction";
	}
	import_event(m, &ev);
	cJSON_Delete(body);
}

/* --- the index: sessions.json ------------------------------------------------------- */

static cJSON *read_index(struct import_run *m, const char *dir)
{
	const char *path = arena_printf(&m->arena, "%s/sessions.json", dir);
	struct buf b = BUF_MAX(SOURCE_MAX);
	struct err ignored;
	cJSON *index = NULL;

	if (source_read(path, &b, &ignored) == 0)
		index = json_parse_object(path, b.p, b.n, &ignored);
	buf_fini(&b);
	return index;
}

static void name_session(struct import_run *m, struct source_session *p,
			 const char *key, const cJSON *entry)
{
	p->key = arena_text(&m->arena, key);
	p->title = arena_text(
		&m->arena,
		source_text(entry, "displayName|display_name|label|subject",
			    NULL));
	p->model = arena_text(&m->arena, source_text(entry, "model", NULL));
}

cJSON *import_openclaw_about(struct import_run *m, struct source_session *p)
{
	const char *path = m->file->path;
	cJSON *index = read_index(m, path_dir(&m->arena, path, 0));
	cJSON *found = NULL;
	const cJSON *entry;

	p->agent = path_above(&m->arena, path, 1);
	cJSON_ArrayForEach(entry, index)
	{
		if (found ||
		    strcmp(source_text(entry, "sessionId", ""), p->key) != 0)
			continue;
		name_session(m, p, entry->string, entry);
		found = cJSON_Duplicate(entry, true);
	}
	cJSON_Delete(index);
	return found;
}

/* Entries are imported with their transcripts; an entry without one is
 * reported. The index itself is kept for transcripts that may still appear. */
int import_openclaw_index(struct import_run *m, struct err *e)
{
	const char *path = m->file->path;
	const char *dir = path_dir(&m->arena, path, 0);
	cJSON *index;
	const cJSON *entry;

	(void)e;
	if (!path_ends(path, "/sessions/sessions.json"))
		return 0;
	index = read_index(m, dir);
	cJSON_ArrayForEach(entry, index)
	{
		const char *id = source_text(entry, "sessionId", "");
		const char *of = arena_printf(&m->arena, "%s/%s.jsonl", dir,
					      id);

		if (!file_exists(of))
			import_unknown(m, entry->string, 1,
				       "an entry whose transcript is not "
				       "beside it");
	}
	if (!index)
		import_unknown(m, NULL, 0, "it cannot be read as JSON");
	cJSON_Delete(index);
	m->file->claimed = m->file->failed = true;
	return 1;
}

/* --- openclaw.json: who the agents are ------------------------------------------------- */

static cJSON *definition(const cJSON *a)
{
	cJSON *def = cJSON_CreateObject();
	const cJSON *model = source_pick(a, "model");
	const char *name = cJSON_IsObject(model)
				   ? source_text(model, "primary", NULL)
				   : source_text(a, "model", NULL);

	cJSON_AddStringToObject(def, "driver", "chat");
	if (name)
		cJSON_AddStringToObject(def, "model", name);
	if (cJSON_IsTrue(source_pick(a, "default")))
		cJSON_AddTrueToObject(def, "default");
	return def;
}

int import_openclaw_config(struct import_run *m, struct err *e)
{
	struct buf b = BUF_MAX(SOURCE_MAX);
	struct err why;
	cJSON *root = NULL;
	const cJSON *a;
	int rc = 0;

	if (!path_ends(m->file->path, "/openclaw.json"))
		return 0;
	if (source_read(m->file->path, &b, &why) == 0)
		root = json5_parse_object("openclaw.json", b.p, b.n, &why);
	buf_fini(&b);
	m->file->claimed = true;
	cJSON_ArrayForEach(a, source_pick(source_pick(root, "agents"), "list"))
	{
		const char *id = source_text(a, "id", NULL);
		cJSON *def = definition(a);

		if (!rc && id)
			rc = import_agent(m, "openclaw",
					  arena_text(&m->arena, id), id, def,
					  e);
		cJSON_Delete(def);
	}
	import_unknown(m, root ? "rest" : NULL, 0,
		       root ? "settings of that program; only its agents are "
			      "taken"
			    : why.text);
	cJSON_Delete(root);
	return rc ? -1 : 1;
}
