/* A file may belong to a database beside it, which knows its name. */
#include "ops/import.h"

#include "base/file.h"

#include <string.h>

/* Indexes that say whose a file is: small. */
static const char *const indexes[] = {"agents", "characters",
				      "conversation_channels", "branches"};

static cJSON *read_indexes(struct sql *db)
{
	cJSON *out = cJSON_CreateObject();

	for (size_t i = 0; i < sizeof indexes / sizeof indexes[0]; i++) {
		struct err ignored;
		cJSON *rows = foreign_has(db, indexes[i])
				      ? foreign_rows(db, indexes[i], NULL, NULL,
						     "rowid", &ignored)
				      : NULL;

		if (rows)
			cJSON_AddItemToObject(out, indexes[i], rows);
	}
	return out;
}

const cJSON *import_aside(struct migrate *m, const char *path,
			  const char *table)
{
	const char *dir = arena_printf(&m->arena, "%s/aside", m->work.path);
	struct foreign_mark mark;
	struct err ignored;
	struct sql *db;

	if (!m->aside_of || strcmp(m->aside_of, path) != 0) {
		cJSON_Delete(m->aside);
		m->aside = NULL;
		m->aside_of = arena_text(&m->arena, path);
		if (foreign_is_database(path) &&
		    !file_make_dir(dir, 0700, &ignored) &&
		    !foreign_open(&db, path, dir, &mark, &ignored)) {
			m->aside = read_indexes(db);
			sql_close(db);
		}
	}
	return foreign_pick(m->aside, table);
}
