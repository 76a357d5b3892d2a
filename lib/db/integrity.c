#include "lib/db/integrity.h"

#include "lib/db/internal.h"
#include "lib/os/file.h"

#include <limits.h>
#include <string.h>

#define PROBLEMS_MAX 4096
#define NAMES_MAX    (1 << 20)
#define SMALL_BYTES  (INT64_C(8) << 20) /* read in a few milliseconds */

/* Joins all rows of a one-column check, except those that say `fine`. */
static int collect_problems(sqlite3 *conn, const char *text, const char *fine,
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

static int64_t pragma_number(sqlite3 *conn, const char *text)
{
	sqlite3_stmt *st;
	int64_t n = 0;

	if (sqlite3_prepare_v2(conn, text, -1, &st, NULL) == SQLITE_OK &&
	    sqlite3_step(st) == SQLITE_ROW)
		n = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return n;
}

static void check_all(sqlite3 *conn, struct buf *problems)
{
	if (!collect_problems(conn, "PRAGMA integrity_check(5)", "ok",
			      problems))
		(void)collect_problems(
			conn,
			"SELECT 'a row of ' || \"table\" || ' has no ' || "
			"parent FROM pragma_foreign_key_check LIMIT 5",
			"", problems);
}

static const char *problem_of(struct buf *problems, struct arena *a)
{
	const char *text = problems->n || problems->over
				   ? arena_text(a, problems->p)
				   : NULL;

	buf_fini(problems);
	return text;
}

static void inspect_database(sqlite3 *conn, struct db_health *out,
			     struct arena *a)
{
	struct buf problems = BUF_MAX(PROBLEMS_MAX);

	out->pages = pragma_number(conn, "PRAGMA page_count");
	out->page_size = pragma_number(conn, "PRAGMA page_size");
	out->version = (int)pragma_number(conn, "PRAGMA user_version");
	out->application_id = (int32_t)pragma_number(conn,
						     "PRAGMA application_id");
	check_all(conn, &problems);
	out->problem = problem_of(&problems, a);
}

/* immutable: a file in a read-only place, or one whose header says WAL, can be
 * read without a -shm. */
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
	rc = sql_connect(uri.p, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, &conn);
	if (rc == SQLITE_OK)
		inspect_database(conn, out, a);
	else
		err_set(e, ERR_IO, "%s: %s", path, sqlite3_errmsg(conn));
	sql_disconnect(conn);
	buf_fini(&uri);
	return rc == SQLITE_OK ? 0 : -1;
}

int db_check_image(const struct db_image *image, struct db_health *out,
		   struct arena *a, struct err *e)
{
	sqlite3 *conn = NULL;
	int rc = sql_connect(":memory:", SQLITE_OPEN_READWRITE, &conn);

	*out = (struct db_health){0};
	if (rc == SQLITE_OK)
		rc = sqlite3_deserialize(conn, "main", image->bytes, image->n,
					 image->n, SQLITE_DESERIALIZE_READONLY);
	if (rc == SQLITE_OK)
		inspect_database(conn, out, a);
	else
		err_set(e, ERR_IO, "cannot read the copy: %s",
			sqlite3_errmsg(conn));
	sql_disconnect(conn);
	return rc == SQLITE_OK ? 0 : -1;
}

/* --- in use ------------------------------------------------------------- */

#define TABLES                                                     \
	"SELECT name FROM sqlite_master WHERE type = 'table' AND " \
	"sql NOT LIKE 'CREATE VIRTUAL%'"

static int check_table(sqlite3 *conn, const char *table, struct buf *problems)
{
	char *check = sqlite3_mprintf("PRAGMA integrity_check(%Q)", table);
	char *keys = sqlite3_mprintf(
		"SELECT 'a row of ' || \"table\" || ' has no ' || parent "
		"FROM pragma_foreign_key_check(%Q) LIMIT 5",
		table);
	int rc = collect_problems(conn, check, "ok", problems) ||
		 collect_problems(conn, keys, "", problems);

	sqlite3_free(check);
	sqlite3_free(keys);
	return rc;
}

static int64_t count_names(const char *names)
{
	int64_t n = *names != '\0';

	for (const char *p = names; (p = strchr(p, ';')); p++)
		n++;
	return n;
}

static void check_tables(sqlite3 *conn,
			 void (*at)(void *arg, int64_t done, int64_t total),
			 void *arg, struct buf *problems)
{
	struct buf names = BUF_MAX(NAMES_MAX);
	char *rest = NULL;
	int64_t total, done = 0;

	/* the names first: the list must not be read while the tables are
	 * checked */
	if (collect_problems(conn, TABLES, "", &names)) {
		buf_adds(problems, names.p);
		buf_fini(&names);
		return;
	}
	total = names.n ? count_names(names.p) : 0;
	for (char *name = total ? strtok_r(names.p, ";", &rest) : NULL; name;
	     name = strtok_r(NULL, ";", &rest)) {
		if (check_table(conn, name + (*name == ' '), problems))
			break;
		if (at)
			at(arg, ++done, total);
	}
	buf_fini(&names);
}

/* One transaction: otherwise SQLite would lock and unlock for every table. */
static void check_at_once(sqlite3 *conn, struct buf *problems)
{
	(void)sqlite3_exec(conn, "BEGIN", NULL, NULL, NULL);
	check_all(conn, problems);
	(void)sqlite3_exec(conn, "ROLLBACK", NULL, NULL, NULL);
}

int db_check_live(struct sql *db,
		  void (*at)(void *arg, int64_t done, int64_t total), void *arg,
		  const char **problem, struct arena *a, struct err *e)
{
	struct buf problems = BUF_MAX(PROBLEMS_MAX);
	int64_t bytes = file_size(db->path);

	if (bytes < 0)
		return err_errno_set(e, "%s", db->path);
	if (bytes < SMALL_BYTES)
		check_at_once(db->conn, &problems);
	else
		check_tables(db->conn, at, arg, &problems);
	*problem = problem_of(&problems, a);
	return 0;
}
