/* A file may belong to a database beside it, which contains its name. */
#include "ops/import/importer.h"

#include "lib/os/file.h"

#include <string.h>

/* Indexes of the owners of files: small. */
static const char *const indexes[] = {"agents", "characters",
				      "conversation_channels", "branches"};

static cJSON *read_indexes(struct sql *db)
{
	cJSON *out = cJSON_CreateObject();

	for (size_t i = 0; i < sizeof indexes / sizeof indexes[0]; i++) {
		struct err ignored;
		cJSON *rows = source_has_table(db, indexes[i])
				      ? source_rows(db, indexes[i], NULL, NULL,
						    "rowid", &ignored)
				      : NULL;

		if (rows)
			cJSON_AddItemToObject(out, indexes[i], rows);
	}
	return out;
}

const cJSON *import_sidecar(struct import_run *m, const char *path,
			    const char *table)
{
	const char *dir = arena_printf(&m->arena, "%s/aside", m->work.path);
	bool known = m->sidecar_path && !strcmp(m->sidecar_path, path);
	struct source_stamp mark;
	struct err why;
	struct sql *db;

	if ((known && m->sidecar) || !source_is_database(path))
		return known ? source_pick(m->sidecar, table) : NULL;
	cJSON_Delete(m->sidecar);
	m->sidecar = NULL;
	m->sidecar_path = arena_text(&m->arena, path);
	if (file_make_dir(dir, 0700, &why) ||
	    source_open(&db, path, dir, &mark, &why)) {
		m->file->blocked = arena_printf(&m->arena,
						"%s, to which it "
						"belongs: %s",
						path, why.text);
		return NULL;
	}
	m->sidecar = read_indexes(db);
	sql_close(db);
	return source_pick(m->sidecar, table);
}
