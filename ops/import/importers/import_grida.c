/* Grida: sessions.db, chats of messages of parts. */
#include "ops/import/importer.h"

#include <string.h>

/* Columns that change while the message stays the same: with them, a session
 * that grew would look like a different one. */
static void drop_marks(cJSON *row)
{
	static const char *const marks[] = {"updated_at", "hidden_at"};

	for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++)
		cJSON_DeleteItemFromObjectCaseSensitive(row, marks[i]);
}

static cJSON *parts_of(struct sql *db, const char *message, struct err *e)
{
	cJSON *rows = source_rows(db, "chat_parts", "message_id", message,
				  "\"index\", rowid", e);
	cJSON *out;
	const cJSON *r;

	if (!rows) /* before they were numbered */
		rows = source_rows(db, "chat_parts", "message_id", message,
				   "rowid", e);
	if (!rows)
		return NULL;
	out = cJSON_CreateArray();
	cJSON_ArrayForEach(r, rows)
	{
		const cJSON *data = source_pick(r, "data_json|data");

		cJSON_AddItemToArray(out, data ? source_value(data)
					       : cJSON_Duplicate(r, true));
	}
	cJSON_Delete(rows);
	return out;
}

/* NULL, or why not everything could be read. */
static const char *add_messages(struct import_run *m, struct sql *db,
				const char *session)
{
	const char *broken = NULL;
	struct err why;
	cJSON *rows = source_rows(db, "chat_messages", "session_id", session,
				  "created_at, rowid", &why);
	const char *seen = ""; /* the last one that no rewind has hidden */
	cJSON *r;

	cJSON_ArrayForEach(r, rows)
	{
		cJSON *parts = parts_of(db, source_text(r, "id", ""), &why);
		bool hidden = source_pick(r, "hidden_at");

		if (!parts)
			broken = arena_text(&m->arena, why.text);
		drop_marks(r);
		import_message_row(m, r, parts, hidden ? NULL : seen);
		if (!hidden)
			seen = source_text(r, "id", seen);
		cJSON_Delete(parts);
	}
	cJSON_Delete(rows);
	return rows ? broken : arena_text(&m->arena, why.text);
}

static int one_session(struct import_run *m, struct sql *db, const cJSON *r,
		       struct err *e)
{
	cJSON *model = source_value(source_pick(r, "model_json"));
	struct source_session p = {
		.importer = "grida",
		.agent = arena_text(&m->arena, source_text(r, "agent", NULL)),
		.key = source_id(r, "id", &m->arena),
		.title = arena_text(&m->arena, source_text(r, "title", NULL)),
		.model = arena_text(&m->arena,
				    source_text(model, "id|model|modelId",
						source_text(r, "model", NULL))),
		.created_at = source_time(source_pick(r, "created_at")),
		.archived = source_pick(r, "archived_at"),
		.row = r,
	};
	int rc;

	p.part = p.key;
	rc = import_session(m, &p, e);
	if (rc > 0)
		rc = import_session_end(m, add_messages(m, db, p.key), e);
	cJSON_Delete(model);
	return rc;
}

int import_grida(struct import_run *m, struct sql *db, struct err *e)
{
	static const char *const imported[] = {"chat_sessions", "chat_messages",
					       "chat_parts", NULL};
	struct err why;
	cJSON *rows;
	const cJSON *r;
	int rc = 0;

	if (!source_has_table(db, "chat_sessions") ||
	    !source_has_table(db, "chat_messages"))
		return 0;
	rows = source_rows(db, "chat_sessions", NULL, NULL, "rowid", &why);
	if (!rows)
		import_unknown(m, "chat_sessions", 0, why.text);
	cJSON_ArrayForEach(r, rows) rc = rc < 0 ? rc : one_session(m, db, r, e);
	cJSON_Delete(rows);
	if (rc < 0)
		return -1;
	import_report_rest(m, db, imported);
	return 1;
}
