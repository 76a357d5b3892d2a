/* SQLite files, told apart by their tables. */
#include "ops/migrate.h"

#include "base/text.h"

#include <inttypes.h>
#include <string.h>

/* --- one message --------------------------------------------------------------- */

cJSON *migrate_message(const cJSON *row, const char *role, const cJSON *content)
{
	cJSON *body = cJSON_CreateObject(), *rest = cJSON_CreateObject();
	const cJSON *v;

	cJSON_AddStringToObject(body, "role", role);
	cJSON_AddItemToObject(body, "content", foreign_value(content));
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

static void give_message(struct migrate *m, const cJSON *row,
			 const cJSON *content)
{
	struct foreign_event ev = {
		.id = foreign_text(row, "id|message_id|external_id", NULL),
		.type = "message",
		.at = foreign_time(foreign_pick(
			row, "created_at|createdAt|time_created|timestamp|ts")),
	};
	cJSON *body = migrate_message(
		row,
		foreign_text(row, "role|sender_type|sender_role|sender",
			     "unknown"),
		content);

	ev.body = body;
	migrate_event(m, &ev);
	cJSON_Delete(body);
}

/* --- OpenClaw: openclaw-agent.sqlite -------------------------------------------- */

static const char *session_key(struct sql *db, const char *id, struct arena *a)
{
	static const char *const tables[][3] = {
		{"session_entries", "session_key", "entry_json"},
		{"session_windows", "session_key", "session_id"},
		{"sessions", "session_key", "session_id"},
	};

	for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
		struct err ignored;
		cJSON *rows = foreign_has(db, tables[i][0])
				      ? foreign_rows(db, tables[i][0], NULL,
						     NULL, "rowid", &ignored)
				      : NULL;
		const char *key = NULL;
		const cJSON *r;

		cJSON_ArrayForEach(r, rows)
		{
			const char *in = foreign_text(r, tables[i][2], "");

			if (!key && strstr(in, id))
				key = arena_text(
					a, foreign_text(r, tables[i][1], NULL));
		}
		cJSON_Delete(rows);
		if (key)
			return key;
	}
	return id;
}

static void openclaw_event(struct migrate *m, const cJSON *row)
{
	cJSON *v = foreign_value(foreign_pick(row, "event_json|event"));

	migrate_openclaw(m, v, foreign_time(foreign_pick(row, "created_at")));
	cJSON_Delete(v);
}

/* agents/NAME/agent/openclaw-agent.sqlite */
static const char *agent_of_path(struct migrate *m)
{
	const char *name = strstr(m->file->path, "/agents/");

	name = name ? name + strlen("/agents/") : NULL;
	return name ? arena_textn(&m->arena, name, strcspn(name, "/")) : NULL;
}

/* One row a session; some versions count events from 0, some from 1. */
static cJSON *first_events(struct sql *db, struct err *e)
{
	cJSON *rows = foreign_rows(db, "transcript_events", "seq", "0",
				   "session_id", e);

	if (!rows || cJSON_GetArraySize(rows) > 0)
		return rows;
	cJSON_Delete(rows);
	return foreign_rows(db, "transcript_events", "seq", "1", "session_id",
			    e);
}

static int openclaw(struct migrate *m, struct sql *db, struct err *e)
{
	cJSON *ids = first_events(db, e);
	const cJSON *r, *ev;
	int rc = ids ? 0 : -1;

	cJSON_ArrayForEach(r, ids)
	{
		const char *id = foreign_text(r, "session_id", "");
		struct session_piece p = {
			.importer = "openclaw",
			.part = arena_text(&m->arena, id),
			.agent = agent_of_path(m),
			.key = session_key(db, id, &m->arena),
		};
		cJSON *events;

		rc = migrate_session(m, &p, e);
		if (rc == 0)
			continue;
		if (rc < 0)
			break;
		events = foreign_rows(db, "transcript_events", "session_id", id,
				      "seq", e);
		cJSON_ArrayForEach(ev, events) openclaw_event(m, ev);
		cJSON_Delete(events);
		rc = migrate_session_end(m, events ? NULL : e->text, e);
		if (rc < 0)
			break;
	}
	cJSON_Delete(ids);
	return rc < 0 ? -1 : 0;
}

/* --- sessions and messages in two tables ----------------------------------------- */

/* How a program names them. */
struct layout {
	const char *importer;
	const char *sessions, *messages,
		*link;                  /* messages.link = sessions.id */
	const char *parts, *parts_link; /* or NULL */
};

static const struct layout layouts[] = {
	{"grida", "chat_sessions", "chat_messages", "session_id", "chat_parts",
	 "message_id"},
	{"hiro", "channels", "messages", "channel_id", NULL, NULL},
};

static cJSON *collect_parts(struct sql *db, const struct layout *l,
			    const char *message)
{
	struct err ignored;
	cJSON *rows = foreign_rows(db, l->parts, l->parts_link, message,
				   "rowid", &ignored);
	cJSON *out = cJSON_CreateArray();
	const cJSON *r;

	cJSON_ArrayForEach(r, rows)
	{
		const cJSON *data = foreign_pick(r, "data|content|part");

		cJSON_AddItemToArray(out, data ? foreign_value(data)
					       : cJSON_Duplicate(r, true));
	}
	cJSON_Delete(rows);
	return out;
}

static void give_row(struct migrate *m, struct sql *db, const struct layout *l,
		     const cJSON *row)
{
	const char *id = foreign_text(row, "id", "");
	cJSON *parts = l->parts ? collect_parts(db, l, id) : NULL;
	const cJSON *content = foreign_pick(row,
					    "content|body|text|data|message");
	cJSON *none = cJSON_CreateNull();

	give_message(m, row,
		     parts && cJSON_GetArraySize(parts) ? parts
		     : content                          ? content
							: none);
	cJSON_Delete(none);
	cJSON_Delete(parts);
}

/* Numbers are ids too. */
static const char *id_of(const cJSON *row, struct arena *a)
{
	const cJSON *v = foreign_pick(row, "id|key|external_id");

	return cJSON_IsNumber(v)
		       ? arena_printf(a, "%" PRId64, (int64_t)v->valuedouble)
		       : arena_text(a, cJSON_IsString(v) ? v->valuestring : "");
}

static int two_tables(struct migrate *m, struct sql *db, const struct layout *l,
		      struct err *e)
{
	cJSON *rows = foreign_rows(db, l->sessions, NULL, NULL, "rowid", e);
	const cJSON *r, *v;
	int rc = rows ? 0 : -1;

	cJSON_ArrayForEach(r, rows)
	{
		const char *id = id_of(r, &m->arena);
		struct session_piece p = {
			.importer = l->importer,
			.part = id,
			.agent = arena_text(
				&m->arena,
				foreign_text(r, "character_id|agent", NULL)),
			.key = id,
			.title = arena_text(
				&m->arena, foreign_text(r, "title|name", NULL)),
			.model = arena_text(&m->arena,
					    foreign_text(r, "model", NULL)),
			.created_at = foreign_time(foreign_pick(
				r, "created_at|createdAt|time_created")),
		};
		cJSON *list;

		rc = migrate_session(m, &p, e);
		if (rc == 0)
			continue;
		if (rc < 0)
			break;
		list = foreign_rows(db, l->messages, l->link, id, "rowid", e);
		cJSON_ArrayForEach(v, list) give_row(m, db, l, v);
		cJSON_Delete(list);
		rc = migrate_session_end(m, list ? NULL : e->text, e);
		if (rc < 0)
			break;
	}
	cJSON_Delete(rows);
	return rc < 0 ? -1 : 0;
}

/* --- Lion: branches are progressions over messages ------------------------------- */

static const char *give_progression(struct migrate *m, struct sql *db,
				    const char *id)
{
	struct err e;
	cJSON *rows = foreign_rows(db, "progressions", "id", id, "rowid", &e);
	cJSON *order = foreign_value(
		foreign_pick(cJSON_GetArrayItem(rows, 0), "collection"));
	const char *broken = NULL;
	const cJSON *v;

	cJSON_ArrayForEach(v, order)
	{
		cJSON *found = cJSON_IsString(v)
				       ? foreign_rows(db, "messages", "id",
						      v->valuestring, "rowid",
						      &e)
				       : NULL;
		const cJSON *row = cJSON_GetArrayItem(found, 0);
		const cJSON *content = foreign_pick(row, "content");

		if (content)
			give_message(m, row, content);
		else
			broken = "a message of its progression is not there";
		cJSON_Delete(found);
	}
	cJSON_Delete(order);
	cJSON_Delete(rows);
	return broken;
}

static int lion(struct migrate *m, struct sql *db, struct err *e)
{
	bool branches = foreign_has(db, "branches");
	cJSON *rows = foreign_rows(db, branches ? "branches" : "sessions", NULL,
				   NULL, "rowid", e);
	const cJSON *r;
	int rc = rows ? 0 : -1;

	cJSON_ArrayForEach(r, rows)
	{
		const char *id = id_of(r, &m->arena);
		struct session_piece p = {
			.importer = "lion",
			.part = id,
			.key = id,
			.title = arena_text(&m->arena,
					    foreign_text(r, "name", NULL)),
			.created_at = foreign_time(
				foreign_pick(r, "created_at")),
		};

		rc = migrate_session(m, &p, e);
		if (rc > 0)
			rc = migrate_session_end(
				m,
				give_progression(
					m, db,
					foreign_text(r, "progression_id", "")),
				e);
		if (rc < 0)
			break;
	}
	cJSON_Delete(rows);
	return rc < 0 ? -1 : 0;
}

/* --- which is it? ------------------------------------------------------------------ */

/* What is in a database that we know, and in none of the tables that we take. */
static void list_rest(struct migrate *m, struct sql *db, const char *taken)
{
	struct err ignored;
	cJSON *tables = foreign_tables(db, &ignored);
	const cJSON *t;

	cJSON_ArrayForEach(t, tables)
	{
		char word[128];
		struct err e;
		cJSON *rows;

		snprintf(word, sizeof word, " %s ", t->valuestring);
		if (strstr(taken, word))
			continue;
		rows = foreign_rows(db, t->valuestring, NULL, NULL, "1", &e);
		if (cJSON_GetArraySize(rows) > 0)
			migrate_unknown(m, t->valuestring,
					cJSON_GetArraySize(rows),
					"no importer takes this table");
		cJSON_Delete(rows);
	}
	cJSON_Delete(tables);
}

static int by_tables(struct migrate *m, struct sql *db, struct err *e)
{
	const char *taken = NULL;
	int rc = 0;

	if (foreign_has(db, "fs_inode") && foreign_has(db, "fs_data")) {
		m->file->claimed = true;
		return migrate_space(m, NULL, e);
	}
	if (foreign_has(db, "transcript_events")) {
		taken = " transcript_events session_entries session_windows "
			"sessions transcript_event_identities ";
		rc = openclaw(m, db, e);
	} else if (foreign_has(db, "progressions") &&
		   foreign_has(db, "messages")) {
		taken = " progressions messages branches sessions "
			"message_types schema_meta ";
		rc = lion(m, db, e);
	}
	for (size_t i = 0; !taken && i < sizeof layouts / sizeof layouts[0];
	     i++) {
		if (!foreign_has(db, layouts[i].sessions) ||
		    !foreign_has(db, layouts[i].messages))
			continue;
		taken = " chat_sessions chat_messages chat_parts channels "
			"messages ";
		rc = two_tables(m, db, &layouts[i], e);
	}
	/* Hiro's index of conversations whose messages are files beside it */
	if (!taken && foreign_has(db, "conversation_channels"))
		taken = " ";
	if (!taken)
		return 0;
	m->file->claimed = true;
	list_rest(m, db, taken);
	return rc;
}

int import_database(struct migrate *m, struct err *e)
{
	struct sql *db;
	struct err why;
	int rc;

	if (foreign_open(&db, m->file->path, m->work.path, &why))
		return 0; /* no database: somebody else may know it */
	rc = by_tables(m, db, e);
	sql_close(db);
	return rc;
}
