#include "schema/control/stats.h"

#include "lib/json/json.h"
#include "lib/os/file.h"
#include "schema/langgraph/langgraph.h"

#include <limits.h>
#include <string.h>

SHAPE_DEFINE(pragmas, PRAGMAS);
SHAPE_DEFINE(stats, STATS);

static const struct words {
	const char *database;
	const char *table;
	const char *column;
} words[] = {
#define WORDS(database, table, column) {#database, #table, #column},
#include "schema/control/stats.def"
#undef WORDS
};

/* Tables by name, as JSON; virtual tables store their rows in others. */
static const char tables[] =
	"SELECT json_group_array(name) FROM sqlite_master WHERE type = 'table'"
	" AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
	" AND sql NOT LIKE 'CREATE VIRTUAL%'";

static int count_rows(struct sql *db, const char *table, struct buf *out,
		      struct err *e)
{
	struct buf query = BUF_MAX(4096);
	int64_t n = 0;
	int rc;

	buf_adds(&query, "SELECT count(*) FROM \"");
	for (const char *p = table; *p; p++)
		buf_adds(&query, *p == '"' ? "\"\"" : (char[]){*p, 0});
	buf_addc(&query, '"');
	rc = buf_ok(&query, "a table's name", e) ||
	     sql_script_i64(db, query.p, &n, e);
	json_put_int(out, table, n);
	buf_fini(&query);
	return rc ? -1 : 0;
}

static int read_rows(struct sql *db, struct buf *out, struct arena *a,
		     struct err *e)
{
	const char *names;
	const cJSON *name;
	cJSON *list;
	int rc = 0;

	if (sql_script_text(db, tables, a, &names, e))
		return -1;
	list = json_parse("tables", names, strlen(names), e);
	if (!list)
		return -1;
	json_begin_object(out);
	cJSON_ArrayForEach(name, list)
	{
		rc = count_rows(db, name->valuestring, out, e);
		if (rc)
			break;
	}
	json_end_object(out);
	cJSON_Delete(list);
	return rc;
}

static int read_words(struct sql *db, const struct words *w, struct buf *out,
		      struct arena *a, struct err *e)
{
	const char *counts;
	int64_t has = 0;
	char query[256];

	snprintf(query, sizeof query,
		 "SELECT count(*) FROM sqlite_master WHERE name = '%s'",
		 w->table);
	if (sql_script_i64(db, query, &has, e))
		return -1;
	if (!has)
		return 0;
	snprintf(query, sizeof query,
		 "SELECT json_group_object(word, n) FROM (SELECT %s AS word,"
		 " count(*) AS n FROM %s GROUP BY 1)",
		 w->column, w->table);
	if (sql_script_text(db, query, a, &counts, e))
		return -1;
	json_put_raw(out, w->table, counts);
	return 0;
}

static int read_statuses(struct sql *db, const char *database, struct buf *out,
			 struct arena *a, struct err *e)
{
	json_begin_object(out);
	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		if (!strcmp(words[i].database, database) &&
		    read_words(db, &words[i], out, a, e))
			return -1;
	json_end_object(out);
	return 0;
}

static int read_langgraph(struct sql *db, struct stats *out, struct arena *a,
			  struct err *e)
{
	struct buf b = BUF_MAX(1024);
	struct langgraph_stats g;

	if (langgraph_stats(db, &g, e))
		return -1;
	json_begin_object(&b);
	json_put_int(&b, "threads", g.threads);
	json_put_int(&b, "checkpoints", g.checkpoints);
	json_put_int(&b, "writes", g.writes);
	json_put_int(&b, "bytes", g.bytes);
	json_end_object(&b);
	out->langgraph = arena_text(a, b.p);
	buf_fini(&b);
	return 0;
}

static int stats_pragmas(struct sql *db, struct pragmas *out, struct arena *a,
			 struct err *e)
{
	static const char *const levels[] = {"off", "normal", "full", "extra"};
	int64_t sync = 0, keys = 0, secure = 0;

	if (sql_script_text(db, "PRAGMA journal_mode", a, &out->journal_mode,
			    e) ||
	    sql_script_i64(db, "PRAGMA synchronous", &sync, e) ||
	    sql_script_i64(db, "PRAGMA busy_timeout", &out->busy_timeout, e) ||
	    sql_script_i64(db, "PRAGMA foreign_keys", &keys, e) ||
	    sql_script_i64(db, "PRAGMA secure_delete", &secure, e))
		return -1;
	out->synchronous = levels[sync & 3];
	out->foreign_keys = keys != 0;
	out->secure_delete = secure != 0;
	return 0;
}

int stats_add_pragmas(struct sql *db, struct buf *b, struct err *e)
{
	struct pragmas p;
	struct arena a = {0};
	int rc = stats_pragmas(db, &p, &a, e);

	if (rc == 0)
		json_add_shape(b, &pragmas_shape, &p);
	arena_fini(&a);
	return rc;
}

void stats_set_pragmas(struct stats *s, const struct pragmas *p)
{
#define SET(tag, type, name) s->name = p->name;
	PRAGMAS(SET, stats)
#undef SET
}

static int read_file(struct sql *db, struct stats *out, struct arena *a,
		     struct err *e)
{
	int64_t pages = 0, size = 0;
	struct pragmas p;

	if (stats_pragmas(db, &p, a, e) ||
	    sql_script_i64(db, "PRAGMA user_version", &out->schema_version,
			   e) ||
	    sql_script_i64(db, "PRAGMA freelist_count", &pages, e) ||
	    sql_script_i64(db, "PRAGMA page_size", &size, e))
		return -1;
	stats_set_pragmas(out, &p);
	out->free_bytes = pages * size;
	return 0;
}

void stats_sizes(const char *path, struct stats *out)
{
	char wal[PATH_MAX + 8];
	int64_t bytes = file_size(path), wal_bytes;

	snprintf(wal, sizeof wal, "%s-wal", path);
	wal_bytes = file_size(wal);
	out->path = path;
	out->bytes = bytes < 0 ? 0 : bytes;
	out->wal_bytes = wal_bytes < 0 ? 0 : wal_bytes;
}

static int read_stats(struct sql *db, struct stats *out, struct arena *a,
		      struct err *e)
{
	struct buf rows = BUF_MAX(1u << 20), statuses = BUF_MAX(1u << 20);
	int rc = read_file(db, out, a, e) || read_rows(db, &rows, a, e) ||
		 read_statuses(db, out->database, &statuses, a, e);

	if (!rc && !strcmp(out->database, "agent"))
		rc = read_langgraph(db, out, a, e);
	out->rows = arena_text(a, rows.p);
	out->statuses = arena_text(a, statuses.p);
	buf_fini(&rows);
	buf_fini(&statuses);
	return rc ? -1 : 0;
}

int stats_read(struct sql *db, const char *database, struct stats *out,
	       struct arena *a, struct err *e)
{
	*out = (struct stats){.database = database};
	stats_sizes(arena_text(a, sql_path(db)), out);
	if (sql_enter_read(db, e))
		return -1;
	return sql_leave(db, read_stats(db, out, a, e), e);
}
