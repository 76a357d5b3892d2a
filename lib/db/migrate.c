#include "lib/db/migrate.h"

#include "lib/base/clock.h"
#include "lib/base/fault.h"
#include "lib/base/log.h"
#include "lib/db/internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define HEADER_BYTES   100
#define USER_VERSION   60 /* offsets in the header of a SQLite file */
#define APPLICATION_ID 68

struct header {
	int32_t version; /* -1: not a database */
	int32_t application;
};

static int32_t big_endian(const unsigned char *p)
{
	return (int32_t)((uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
			 (uint32_t)p[2] << 8 | p[3]);
}

/*
 * Inspects the file without reading it as a database, so that a file which we
 * then reject gets no new -wal or -shm. It is still opened through SQLite:
 * closing a descriptor of our own would release every lock that other
 * connections of this process have on the file.
 */
static struct header read_header(sqlite3 *conn)
{
	static const char magic[16] = "SQLite format 3";
	struct header h = {.version = -1};
	unsigned char raw[HEADER_BYTES];
	sqlite3_file *f = NULL;
	sqlite3_int64 size = -1;

	sqlite3_file_control(conn, "main", SQLITE_FCNTL_FILE_POINTER, &f);
	if (!f || !f->pMethods || f->pMethods->xFileSize(f, &size))
		return h;
	if (size == 0)
		h.version = 0;
	if (size < HEADER_BYTES ||
	    f->pMethods->xRead(f, raw, HEADER_BYTES, 0) != SQLITE_OK ||
	    memcmp(raw, magic, sizeof magic) != 0)
		return h;
	h.version = big_endian(raw + USER_VERSION);
	h.application = big_endian(raw + APPLICATION_ID);
	return h;
}

int db_peek_version(const char *path)
{
	sqlite3 *conn = NULL;
	int version = -1;

	if (sql_connect(path, SQLITE_OPEN_READONLY, &conn) == SQLITE_OK)
		version = read_header(conn).version;
	sql_disconnect(conn);
	return version;
}

static int refuse_newer(const char *path, const struct db_schema *s,
			int64_t version, struct err *e)
{
	return err_set(e, ERR_VERSION,
		       "%s: this %s has schema version %" PRId64
		       ", skep %s knows versions up to %d. Nothing was "
		       "changed; use the newer skep that made it",
		       path, s->kind, version, SKEP_VERSION, s->version);
}

/* In the connection that is opened anyway: a separate one would cost 16 system
 * calls. */
static int check_header(struct sql *db, const void *schema, struct err *e)
{
	const struct db_schema *s = schema;
	struct header h = read_header(db->conn);

	if (h.version < 0)
		return err_set(e, ERR_CORRUPT, "%s is not a SQLite database",
			       sql_path(db));
	if (h.version > s->version)
		return refuse_newer(sql_path(db), s, h.version, e);
	if (h.application && h.application != s->application_id)
		return err_set(e, ERR_INVALID,
			       "%s is a SQLite database, but not a %s of "
			       "skep",
			       sql_path(db), s->kind);
	return 0;
}

static int check_foreign_keys(struct sql *db, struct err *e)
{
	int64_t broken = 0;

	if (sql_script_i64(db, "SELECT count(*) FROM pragma_foreign_key_check",
			   &broken, e))
		return -1;
	return broken ? err_set(e, ERR_CORRUPT,
				"%s: %" PRId64 " rows would lose their parent",
				sql_path(db), broken)
		      : 0;
}

static int may_change(struct sql *db, const struct db_schema *s, struct err *e)
{
	return s->may_change ? s->may_change(db, e) : 0;
}

/* --- progress ---------------------------------------------------------- */

#define EVERY_MS    1000
#define EVERY_STEPS 100000 /* of SQLite's virtual machine: some ms */

static void log_migrating(const struct db_migrating *m)
{
	log_warn(LT("msg", "updating the schema"), LT("file", m->path),
		 LI("version", m->version), LI("last", m->last),
		 LI("seconds", m->seconds));
}

static db_migrating_fn *report = log_migrating;
static int report_every_ms = EVERY_MS;

void db_watch_migrations(db_migrating_fn *fn, int every_ms)
{
	report = fn ? fn : log_migrating;
	report_every_ms = fn ? every_ms : EVERY_MS;
}

struct watch {
	struct db_migrating at;
	int64_t began, reported_at; /* ns */
};

static int on_steps(void *arg)
{
	struct watch *w = arg;
	int64_t now = clock_mono_ns();

	if (now - w->reported_at < report_every_ms * INT64_C(1000000))
		return 0;
	w->reported_at = now;
	w->at.seconds = (int)((now - w->began) / 1000000000);
	report(&w->at);
	return 0;
}

/* --- migrations -------------------------------------------------------- */

static int apply(struct sql *db, const struct db_schema *s, int number,
		 struct err *e)
{
	const struct db_migration *m = &s->migrations[number - 1];
	int64_t now = 0;
	char set[96];

	if (sql_script_i64(db, "PRAGMA user_version", &now, e))
		return -1;
	if (now >= number)
		return 0; /* another process was faster */
	if (now > 0 && may_change(db, s, e))
		return -1;
	snprintf(set, sizeof set,
		 "PRAGMA application_id=%" PRId32 "; PRAGMA user_version=%d",
		 s->application_id, number);
	if (sql_script(db, m->text, e) ||
	    (m->rebuild && check_foreign_keys(db, e)) || sql_script(db, set, e))
		return err_wrap(e, "migration %s", m->name);
	return 0;
}

static int run_migration(struct sql *db, const struct db_schema *s, int number,
			 struct err *e)
{
	bool rebuild = s->migrations[number - 1].rebuild;
	int64_t now = clock_mono_ns();
	struct watch w = {
		{s->kind, sql_path(db), number, s->version, 0}, now, now};
	struct err ignored;
	int rc;

	if (fault_point(FAULT_db_migrate_step, e))
		return -1;
	if (rebuild && sql_run(db, "PRAGMA foreign_keys=OFF", e))
		return -1;
	sqlite3_progress_handler(db->conn, EVERY_STEPS, on_steps, &w);
	rc = sql_enter_relaxed(db, e);
	if (!rc)
		rc = sql_leave(db, apply(db, s, number, e), e);
	sqlite3_progress_handler(db->conn, 0, NULL, NULL);
	if (rebuild && sql_run(db, "PRAGMA foreign_keys=ON", rc ? &ignored : e))
		rc = -1;
	return rc;
}

static int run_migrations(struct sql *db, const struct db_schema *s,
			  int64_t version, struct err *e)
{
	while (version < s->version)
		if (run_migration(db, s, (int)++version, e))
			return -1;
	return sql_sync(db, e); /* syncs all of them at once */
}

static int has_column(struct sql *db, const struct db_column *c, bool *has,
		      struct err *e)
{
	char query[256];
	int64_t n = 0;

	snprintf(query, sizeof query,
		 "SELECT count(*) FROM pragma_table_info('%s')"
		 " WHERE name='%s'",
		 c->table, c->column);
	if (sql_script_i64(db, query, &n, e))
		return -1;
	*has = n > 0;
	return 0;
}

static int add_column(struct sql *db, const struct db_schema *s,
		      const struct db_column *c, struct err *e)
{
	bool has;

	if (has_column(db, c, &has, e))
		return -1;
	if (has)
		return 0;
	return may_change(db, s, e) ? -1 : sql_script(db, c->text, e);
}

static int add_columns(struct sql *db, const struct db_schema *s, struct err *e)
{
	for (unsigned i = 0; i < s->ncolumns; i++) {
		bool has;

		if (has_column(db, &s->columns[i], &has, e))
			return -1;
		if (has)
			continue;
		if (sql_enter(db, e) ||
		    sql_leave(db, add_column(db, s, &s->columns[i], e), e))
			return err_wrap(e, "column %s.%s", s->columns[i].table,
					s->columns[i].column);
	}
	return 0;
}

static int migrate(struct sql *db, const struct db_schema *s, unsigned flags,
		   struct err *e)
{
	int64_t version = 0;

	if (sql_script_i64(db, "PRAGMA user_version", &version, e))
		return -1;
	if (version > s->version) /* newer, and still in the WAL */
		return refuse_newer(sql_path(db), s, version, e);
	if (flags & SQL_READONLY)
		return version == s->version
			       ? 0
			       : err_set(e, ERR_VERSION,
					 "%s has schema version %" PRId64
					 " and must be opened for writing "
					 "first to be "
					 "migrated to version %d",
					 sql_path(db), version, s->version);
	if (version < s->version && run_migrations(db, s, version, e))
		return -1;
	return add_columns(db, s, e);
}

int db_open(struct sql **out, const char *path, const struct db_schema *schema,
	    unsigned flags, struct err *e)
{
	struct sql *db;

	if (sql_open_inspected(&db, path, schema->queries, flags,
			       &(struct sql_inspection){check_header, schema},
			       e))
		return -1;
	if (migrate(db, schema, flags, e)) {
		sql_close_as_is(db);
		return -1;
	}
	*out = db;
	return 0;
}
