#include "lib/db/snapshot.h"

#include "lib/db/internal.h"
#include "lib/os/file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define IMAGE_MAX (INT64_C(8) << 20)
#define BUSY_MS   30000

/* VACUUM INTO may write to an empty file; we create it to set its mode. */
static int make_target(const char *to, struct err *e)
{
	return mknod(to, S_IFREG | 0600, 0) ? err_errno_set(e, "%s", to) : 0;
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

/* Of a large file. Copying its pages unchanged would include free pages, and
 * take as much memory or a second pass. synchronous=OFF: a copy that is
 * incomplete after a power failure is not used yet. */
int db_snapshot(const char *path, const char *to, struct err *e)
{
	char journal[PATH_MAX + 16];
	struct sql *db;
	int rc;

	if (sql_open(&db, path, NULL, SQL_READONLY, e))
		return -1;
	rc = make_target(to, e) || sql_run(db, "PRAGMA synchronous=OFF", e);
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

/* --- in memory ------------------------------------------------------------ */

/* All pages in one step: one read transaction, which writers do not disturb. */
static int copy_pages(sqlite3 *from, sqlite3 *to)
{
	sqlite3_backup *b = sqlite3_backup_init(to, "main", from, "main");
	int rc;

	if (!b)
		return sqlite3_extended_errcode(to);
	rc = sqlite3_backup_step(b, -1);
	sqlite3_backup_finish(b);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int db_clone(const char *path, const char *to, struct err *e)
{
	sqlite3 *from = NULL, *copy = NULL;
	int rc;

	if (make_target(to, e))
		return -1;
	rc = sql_connect(path, SQLITE_OPEN_READONLY, &from);
	if (rc == SQLITE_OK)
		rc = sql_connect(to, SQLITE_OPEN_READWRITE, &copy);
	if (rc == SQLITE_OK) {
		sqlite3_busy_timeout(from, BUSY_MS);
		rc = sqlite3_exec(copy,
				  "PRAGMA synchronous=OFF; "
				  "PRAGMA journal_mode=OFF",
				  NULL, NULL, NULL);
	}
	if (rc == SQLITE_OK)
		rc = copy_pages(from, copy);
	sql_disconnect(copy);
	sql_disconnect(from);
	if (rc == SQLITE_OK)
		return 0;
	unlink(to);
	return err_set(e, (rc & 0xff) == SQLITE_FULL ? ERR_FULL : ERR_IO,
		       "%s: %s", path, sqlite3_errstr(rc));
}

/* The header refers to the log of the original; a copy has none. */
static void forget_wal(struct db_image *image)
{
	if (image->n > 19)
		image->bytes[18] = image->bytes[19] = 1;
}

/* A connection to a database in memory, which may grow; takes *image. */
static int open_memory(sqlite3 **out, struct db_image *image)
{
	int rc = sql_connect(":memory:", SQLITE_OPEN_READWRITE, out);

	if (rc != SQLITE_OK)
		return rc;
	rc = sqlite3_deserialize(*out, "main", image->bytes, image->n, image->n,
				 SQLITE_DESERIALIZE_RESIZEABLE |
					 SQLITE_DESERIALIZE_FREEONCLOSE);
	*image = (struct db_image){0};
	return rc;
}

static int take_out(sqlite3 *conn, struct db_image *image)
{
	sqlite3_int64 n = 0;

	image->bytes = sqlite3_serialize(conn, "main", &n, 0);
	image->n = n;
	return image->bytes ? SQLITE_OK : SQLITE_NOMEM;
}

/* The number of free pages is at byte 36 of the header. */
static bool has_holes(const struct db_image *image)
{
	static const unsigned char none[4] = {0};

	return image->n > 40 && memcmp(image->bytes + 36, none, 4) != 0;
}

static int close_holes(struct db_image *image)
{
	sqlite3 *conn = NULL;
	int rc = open_memory(&conn, image);

	if (rc == SQLITE_OK)
		rc = sqlite3_exec(conn, "PRAGMA temp_store=MEMORY; VACUUM",
				  NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = take_out(conn, image);
	sql_disconnect(conn);
	return rc;
}

static int image_of(sqlite3 *from, struct db_image *image)
{
	sqlite3 *to = NULL;
	int rc = open_memory(&to, image);

	if (rc == SQLITE_OK)
		rc = copy_pages(from, to);
	if (rc == SQLITE_OK)
		rc = take_out(to, image);
	sql_disconnect(to);
	if (rc != SQLITE_OK)
		return rc;
	forget_wal(image);
	return has_holes(image) ? close_holes(image) : SQLITE_OK;
}

/* -1 if it does not exist. */
static int64_t size_with_log(const char *path)
{
	char wal[PATH_MAX + 8];
	int64_t bytes = file_size(path), log;

	snprintf(wal, sizeof wal, "%s-wal", path);
	log = bytes < 0 ? 0 : file_size(wal);
	return log > 0 ? bytes + log : bytes;
}

/* With a bare connection: nothing here needs the tables, and reading their
 * definitions is most of the cost of an open. */
int db_image_take(const char *path, struct db_image *image, struct err *e)
{
	sqlite3 *from = NULL;
	int64_t bytes = size_with_log(path);
	int rc;

	*image = (struct db_image){0};
	if (bytes < 0)
		return err_errno_set(e, "%s", path);
	if (bytes == 0 || bytes > IMAGE_MAX)
		return 0;
	rc = sql_connect(path, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX,
			 &from);
	if (rc == SQLITE_OK) {
		sqlite3_busy_timeout(from, BUSY_MS);
		rc = image_of(from, image);
	}
	if (rc != SQLITE_OK) {
		db_image_free(image);
		err_set(e, ERR_IO, "%s: %s", path, sqlite3_errstr(rc));
	}
	sql_disconnect(from);
	return rc == SQLITE_OK ? 1 : -1;
}

void db_image_free(struct db_image *image)
{
	sqlite3_free(image->bytes);
	*image = (struct db_image){0};
}

int db_alone(struct sql *db, struct err *e)
{
	struct arena a = {0};
	const char *mode = "";
	int rc = sql_run(db, "PRAGMA busy_timeout=500", e);

	if (!rc &&
	    (sql_script_text(db, "PRAGMA journal_mode=DELETE", &a, &mode, e) ||
	     strcmp(mode, "delete") != 0))
		rc = err_set(e, ERR_BUSY,
			     "%s is in use; retry when no process has it "
			     "open",
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
