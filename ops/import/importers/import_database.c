/* SQLite files, recognized by their tables, and the tables that are not
 * imported. */
#include "ops/import/importer.h"

#include "ops/import/ignored.h"

#include <string.h>

/* Tables with content that were not imported. The list ends with NULL; a name
 * with a leading '-' is known and has nothing to import. */
void import_report_rest(struct import_run *m, struct sql *db,
			const char *const *imported)
{
	struct err ignored;
	cJSON *tables = source_tables(db, &ignored);
	const cJSON *t;

	cJSON_ArrayForEach(t, tables)
	{
		const char *why = ignored_table_reason(t->valuestring);
		bool known = false;
		int64_t n;

		for (const char *const *k = imported; *k; k++)
			known = known || !strcmp(*k, t->valuestring);
		n = known ? 0 : source_count(db, t->valuestring);
		if (n != 0)
			import_unknown(m, t->valuestring, n < 0 ? 0 : n,
				       n < 0 ? "it cannot be read"
				       : why ? why
					     : "no importer takes this table");
	}
	cJSON_Delete(tables);
}

int import_agentfs(struct import_run *m, struct sql *db, struct err *e)
{
	static const char *const imported[] = {
		"fs_inode",  "fs_dentry",   "fs_data",           "fs_symlink",
		"fs_config", "fs_whiteout", "fs_overlay_config", NULL};

	if (!source_has_table(db, "fs_inode") ||
	    !source_has_table(db, "fs_data"))
		return 0;
	if (import_workspace(m, path_stem(&m->arena, m->file->path),
			     source_count(db, "fs_dentry"), e))
		return -1;
	import_report_rest(m, db, imported);
	return 1;
}

/* A store of one of the programs that has nothing to import. */
static int import_known(struct import_run *m, struct sql *db, struct err *e)
{
	static const char *const none[] = {NULL};
	cJSON *tables = source_tables(db, e);
	bool known = false;
	const cJSON *t;

	cJSON_ArrayForEach(t, tables)
		known = known || ignored_table_reason(t->valuestring);
	cJSON_Delete(tables);
	if (known)
		import_report_rest(m, db, none);
	return known;
}

typedef int database_fn(struct import_run *m, struct sql *db, struct err *e);

int import_database(struct import_run *m, struct err *e)
{
	static database_fn *const all[] = {
		import_agentfs,        import_openclaw_agent,
		import_openclaw_state, import_lion,
		import_grida,          import_hiro_data,
		import_hiro_workspace, import_langgraph,
		import_known,
	};
	struct sql *db;
	struct err why;
	int got = 0;

	if (source_open(&db, m->file->path, m->work.path, &m->file->mark,
			&why)) {
		m->file->claimed = true;
		import_unknown(m, NULL, 0, why.text);
		return 0;
	}
	for (size_t i = 0; got == 0 && i < sizeof all / sizeof all[0]; i++)
		got = all[i](m, db, e);
	m->file->claimed = got != 0;
	sql_close(db);
	return got < 0 ? -1 : 0;
}
