#include "db/backup.h"

#include "base/file.h"
#include "db/sql_conn.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PROBLEMS_MAX 4096

/* An empty file is what VACUUM INTO may write over; made here for its mode. */
static int make_target(const char *to, struct err *e)
{
	int fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0)
		return err_errno_set(e, "%s", to);
	close(fd);
	return 0;
}

static int vacuum_into(struct sql *db, const char *to, struct err *e)
{
	sqlite3_stmt *st;
	int rc = sqlite3_prepare_v2(db->conn, "VACUUM INTO ?1", -1, &st, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_bind_text(st, 1, to, -1, SQLITE_STATIC);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(st);
	rc = sql_failed(rc) ? sql_fail(db, rc, "snapshot", e) : 0;
	sqlite3_finalize(st);
	return rc;
}

/* Through a copy of pages, SQLite's backup API would start over with every
 * commit of another process, or hold the file as long as this does; and the
 * copy would have the file's holes. */
int db_snapshot(const char *path, const char *to, struct err *e)
{
	char journal[PATH_MAX + 16];
	struct sql *db;
	int rc;

	if (sql_open(&db, path, NULL, SQL_READONLY, e))
		return -1;
	rc = make_target(to, e);
	if (!rc) {
		rc = vacuum_into(db, to, e);
		if (rc)
			unlink(to);
		snprintf(journal, sizeof journal, "%s-journal", to);
		unlink(journal);
	}
	sql_close(db);
	return rc;
}

/* All rows of a one-column check, joined; NULL when it said only `fine`. */
static int ask(sqlite3 *conn, const char *text, const char *fine,
	       struct buf *out)
{
	sqlite3_stmt *st;
	int rc = sqlite3_prepare_v2(conn, text, -1, &st, NULL);

	while (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		const char *line = (const char *)sqlite3_column_text(st, 0);

		rc = SQLITE_OK;
		if (line && strcmp(line, fine) != 0)
			buf_addf(out, "%s%s", out->n ? "; " : "", line);
	}
	sqlite3_finalize(st);
	if (rc != SQLITE_DONE)
		buf_addf(out, "%s%s", out->n ? "; " : "", sqlite3_errmsg(conn));
	return rc == SQLITE_DONE ? 0 : -1;
}

static int64_t number(sqlite3 *conn, const char *text)
{
	sqlite3_stmt *st;
	int64_t n = 0;

	if (sqlite3_prepare_v2(conn, text, -1, &st, NULL) == SQLITE_OK &&
	    sqlite3_step(st) == SQLITE_ROW)
		n = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return n;
}

static void look(sqlite3 *conn, struct db_health *out, struct arena *a)
{
	struct buf said = BUF_MAX(PROBLEMS_MAX);

	out->pages = number(conn, "PRAGMA page_count");
	out->page_size = number(conn, "PRAGMA page_size");
	out->version = (int)number(conn, "PRAGMA user_version");
	out->application_id = (int32_t)number(conn, "PRAGMA application_id");
	if (!ask(conn, "PRAGMA integrity_check(5)", "ok", &said))
		(void)ask(conn,
			  "SELECT 'a row of ' || \"table\" || ' has no ' || "
			  "parent FROM pragma_foreign_key_check LIMIT 5",
			  "", &said);
	if (said.n || said.over)
		out->problem = arena_text(a, said.p);
	buf_fini(&said);
}

/* immutable: a file of a read-only place, or one whose header says WAL, can be
 * looked into without a -shm. */
int db_check(const char *path, struct db_health *out, struct arena *a,
	     struct err *e)
{
	struct buf uri = BUF_MAX(4 * PATH_MAX);
	sqlite3 *conn = NULL;
	int rc;

	*out = (struct db_health){0};
	if (file_size(path) < 0)
		return err_errno_set(e, "%s", path);
	buf_adds(&uri, "file:");
	for (const char *p = path; *p; p++)
		buf_addf(&uri, strchr("?#%", *p) ? "%%%02x" : "%c", *p);
	buf_adds(&uri, "?immutable=1");
	rc = sqlite3_open_v2(uri.p, &conn,
			     SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL);
	if (rc == SQLITE_OK)
		look(conn, out, a);
	else
		err_set(e, ERR_IO, "%s: %s", path, sqlite3_errmsg(conn));
	sqlite3_close(conn);
	buf_fini(&uri);
	return rc == SQLITE_OK ? 0 : -1;
}

#define TABLES                                                     \
	"SELECT name FROM sqlite_master WHERE type = 'table' AND " \
	"sql NOT LIKE 'CREATE VIRTUAL%'"

static int check_table(sqlite3 *conn, const char *table, struct buf *said)
{
	char *check = sqlite3_mprintf("PRAGMA integrity_check(%Q)", table);
	char *keys = sqlite3_mprintf(
		"SELECT 'a row of ' || \"table\" || ' has no ' || parent "
		"FROM pragma_foreign_key_check(%Q) LIMIT 5",
		table);
	int rc = ask(conn, check, "ok", said) || ask(conn, keys, "", said);

	sqlite3_free(check);
	sqlite3_free(keys);
	return rc;
}

static void check_tables(sqlite3 *conn, struct buf *said)
{
	struct buf names = BUF_MAX(1 << 20);
	char *rest = NULL;

	/* names first: the list must not be read while they are checked */
	if (ask(conn, TABLES, "", &names)) {
		buf_adds(said, names.p);
	} else {
		for (char *name = strtok_r(names.p, ";", &rest); name;
		     name = strtok_r(NULL, ";", &rest))
			if (check_table(conn, name + (*name == ' '), said))
				break;
	}
	buf_fini(&names);
}

int db_check_live(const char *path, const char **problem, struct arena *a,
		  struct err *e)
{
	struct buf said = BUF_MAX(PROBLEMS_MAX);
	struct sql *db;

	*problem = NULL;
	if (sql_open(&db, path, NULL, SQL_READONLY, e))
		return -1;
	check_tables(db->conn, &said);
	sql_close(db);
	if (said.n || said.over)
		*problem = arena_text(a, said.p);
	buf_fini(&said);
	return 0;
}

int db_alone(struct sql *db, struct err *e)
{
	struct arena a = {0};
	const char *mode = "";
	int rc = sql_script(db, "PRAGMA busy_timeout=500", e);

	if (!rc &&
	    (sql_script_text(db, "PRAGMA journal_mode=DELETE", &a, &mode, e) ||
	     strcmp(mode, "delete") != 0))
		rc = err_set(e, ERR_BUSY,
			     "%s is in use: wait until nobody has it open, "
			     "then try again",
			     db->path);
	arena_fini(&a);
	return rc;
}

int db_remove(const char *path, struct err *e)
{
	static const char *const ends[] = {"-wal", "-shm", "-journal", ""};

	for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
		char full[PATH_MAX + 16];

		snprintf(full, sizeof full, "%s%s", path, ends[i]);
		if (unlink(full) && errno != ENOENT)
			return err_errno_set(e, "%s", full);
	}
	return 0;
}
