/* LangGraph's checkpoints: an agent file has them in tables of the same names
 * (schema/langgraph/langgraph.h), so they are copied unchanged, thread by
 * thread. */
#include "ops/import/importer.h"

#include "schema/langgraph/langgraph.h"

#include <string.h>

static const char *const tables[] = {"checkpoints", "writes"};
#define NTABLES (sizeof tables / sizeof tables[0])

struct thread {
	struct sql *db; /* the source */
	const char *name;
};

static int64_t count_rows(struct sql *db, const char *prefix, const char *table,
			  const char *thread)
{
	struct buf b = BUF_MAX(8192);
	struct err ignored;
	int64_t n = 0;

	buf_addf(&b, "SELECT count(*) FROM %s%s WHERE thread_id = ", prefix,
		 table);
	source_quote(&b, thread, '\'');
	(void)sql_script_i64(db, b.p, &n, &ignored);
	buf_fini(&b);
	return n;
}

/* Creates the table as in the source, if it is missing, and adds missing rows.
 * SQLite rejects a table with other columns by name. */
static void add_copy(struct buf *b, const char *made, const char *table,
		     const char *thread, const cJSON *columns)
{
	const cJSON *c;

	buf_addf(b, "CREATE TABLE IF NOT EXISTS %s%s;", table,
		 strchr(made, '('));
	buf_addf(b, "INSERT OR IGNORE INTO %s (", table);
	cJSON_ArrayForEach(c, columns)
	{
		buf_adds(b, c == columns->child ? "" : ",");
		source_quote(b, c->valuestring, '"');
	}
	buf_adds(b, ") SELECT ");
	cJSON_ArrayForEach(c, columns)
	{
		buf_adds(b, c == columns->child ? "" : ",");
		source_quote(b, c->valuestring, '"');
	}
	buf_addf(b, " FROM source.%s WHERE thread_id = ", table);
	source_quote(b, thread, '\'');
	buf_adds(b, ";");
}

static int add_tables(struct buf *b, const struct thread *t, struct err *e)
{
	for (size_t i = 0; i < NTABLES; i++) {
		cJSON *rows = source_rows(t->db, "sqlite_master", "name",
					  tables[i], "rowid", e);
		cJSON *columns = source_columns(t->db, tables[i], e);
		const char *made = source_text(cJSON_GetArrayItem(rows, 0),
					       "sql", "");

		if (columns && strchr(made, '('))
			add_copy(b, made, tables[i], t->name, columns);
		cJSON_Delete(columns);
		cJSON_Delete(rows);
	}
	return buf_ok(b, "a thread", e);
}

static int import_thread(struct import_run *m, void *arg, struct agent_file *f,
			 struct import_item *p, struct err *e)
{
	const struct thread *t = arg;
	struct buf b = BUF_MAX(1u << 20);
	int64_t before = 0;
	struct err ignored;
	int rc;

	for (size_t i = 0; i < NTABLES; i++)
		p->records += count_rows(t->db, "", tables[i], t->name);
	p->added = p->records;
	if (!f)
		return 0;
	for (size_t i = 0; i < NTABLES; i++)
		before += count_rows(f->db, "", tables[i], t->name);
	buf_adds(&b, "ATTACH ");
	source_quote(&b, staging_dir_path(&m->work, SOURCE_COPY), '\'');
	buf_adds(&b, " AS source; BEGIN IMMEDIATE;");
	rc = add_tables(&b, t, e);
	buf_adds(&b, "COMMIT");
	if (!rc && sql_script(f->db, b.p, e)) {
		(void)sql_script(f->db, "ROLLBACK", &ignored);
		rc = -1;
	}
	p->added = -before;
	for (size_t i = 0; i < NTABLES; i++)
		p->added += count_rows(f->db, "main.", tables[i], t->name);
	buf_fini(&b);
	return rc;
}

int import_threads(struct import_run *m, struct sql *db,
		   const char *(*agent_of)(struct import_run *m,
					   const char *id),
		   struct err *e)
{
	struct err why;
	cJSON *names = source_has_table(db, "checkpoints")
			       ? source_values(db, "checkpoints", "thread_id",
					       &why)
			       : NULL;
	const cJSON *n;
	int rc = 0;

	cJSON_ArrayForEach(n, names)
	{
		struct thread t = {db, n->valuestring};
		struct item_options options = {
			.importer = "langgraph",
			.agent = import_agent_name(
				m, agent_of ? agent_of(m, t.name) : NULL),
			.take = import_thread,
			.arg = &t};

		options.part = arena_printf(&m->arena, "checkpoints/%s",
					    t.name);
		options.target = arena_printf(&m->arena, "%s checkpoints %s",
					      options.agent, t.name);
		if (!rc)
			rc = import_once(m, &options, e);
	}
	cJSON_Delete(names);
	return rc;
}

int import_langgraph(struct import_run *m, struct sql *db, struct err *e)
{
	static const char *const imported[] = {"checkpoints", "writes", NULL};

	if (!source_has_table(db, "checkpoints") ||
	    !source_has_table(db, "writes"))
		return 0;
	if (import_threads(m, db, NULL, e))
		return -1;
	import_report_rest(m, db, imported);
	return 1;
}
