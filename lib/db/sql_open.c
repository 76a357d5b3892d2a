/* Opening and closing a connection, and literal SQL; lib/db/sql.c has the
 * statements, lib/db/sql_tx.c the transactions. */
#include "lib/db/internal.h"

#include "lib/os/file.h"
#include "lib/os/open_files.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * wal_autocheckpoint=0: SQLite's own checkpoints are PASSIVE and run outside
 * the write queue; lib/db/checkpoint.c does them instead.
 *
 * journal_size_limit: otherwise a log keeps its peak size permanently, for
 * every agent; but a limit below the usual size (4000 frames) makes SQLite
 * truncate the file after every checkpoint and allocate it again, which costs a
 * fifth of the speed of appends.
 *
 * temp_store=MEMORY: SQLite keeps the undo data of a statement in a temporary
 * file once that is larger than 64 KiB, and the sandbox of a run has no
 * directory for such a file. Nothing of ours is written outside the home
 * anyway. sql_vacuum is the exception.
 *
 * cache_spill=ON: see sql_cache.
 */
static const char pragmas[] = "PRAGMA busy_timeout=30000;"
			      "PRAGMA foreign_keys=ON;"
			      "PRAGMA secure_delete=OFF;"
			      "PRAGMA temp_store=MEMORY;"
			      "PRAGMA cache_spill=ON;"
			      "PRAGMA wal_autocheckpoint=0;"
			      "PRAGMA synchronous=FULL;";

static const char write_pragmas[] = "PRAGMA journal_mode=WAL;"
				    "PRAGMA journal_size_limit=20971520;";

bool sql_failed(int rc)
{
	return rc != SQLITE_OK && rc != SQLITE_ROW && rc != SQLITE_DONE;
}

static enum err_code constraint_code(int rc)
{
	switch (rc) {
	case SQLITE_CONSTRAINT_CHECK:
	case SQLITE_CONSTRAINT_NOTNULL:
	case SQLITE_CONSTRAINT_DATATYPE:
		return ERR_INVALID;
	default:
		return ERR_CONFLICT;
	}
}

static enum err_code code_of(int rc)
{
	switch (rc & 0xff) {
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return ERR_BUSY;
	case SQLITE_CONSTRAINT:
		return constraint_code(rc);
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return ERR_CORRUPT;
	case SQLITE_INTERRUPT:
		return ERR_CANCELED;
	case SQLITE_FULL:
		return ERR_FULL;
	case SQLITE_READONLY:
		return ERR_READONLY;
	case SQLITE_PERM:
	case SQLITE_AUTH:
		return ERR_DENIED;
	case SQLITE_IOERR:
	case SQLITE_CANTOPEN:
	case SQLITE_NOMEM:
		return ERR_IO;
	case SQLITE_TOOBIG:
		return ERR_TOOBIG;
	case SQLITE_MISMATCH:
		return ERR_INVALID;
	default:
		return ERR_INTERNAL;
	}
}

/* SQLite only reports that it could not open or write; this finds the
 * reason. */
static int blame_place(const struct sql *db, int rc, struct err *e)
{
	switch (rc & 0xff) {
	case SQLITE_IOERR:
	case SQLITE_CANTOPEN:
	case SQLITE_FULL:
	case SQLITE_READONLY:
		return sql_place_refuses(db->path, e);
	default:
		return 0;
	}
}

int sql_fail(struct sql *db, int rc, const char *what, struct err *e)
{
	int ext = sqlite3_extended_errcode(db->conn);
	const char *text;

	if ((ext & 0xff) == (rc & 0xff))
		rc = ext;
	db->doomed = db->doomed || db->depth > 0;
	if (blame_place(db, rc, e))
		return -1;
	/* SQLite does not treat a short read of the database itself as an
	 * error */
	if (rc == SQLITE_IOERR_SHORT_READ)
		return sql_log_is_foreign(db, e);
	text = sqlite3_errmsg(db->conn);
	/* A header that no SQLite writes; it has no code of its own. */
	if (rc == SQLITE_ERROR && !strcmp(text, "unsupported file format"))
		rc = SQLITE_CORRUPT;
	err_set(e, code_of(rc), "%s: %s: %s", db->path, what, text);
	/* SQLite may quote a whole statement; an error is one line */
	for (char *p = e->text; (p = strpbrk(p, "\n\t\r"));)
		*p = ' ';
	return -1;
}

/* SQLite gives -wal and -shm the mode of the database file, so creating that
 * file first with 0600 sets the mode of all three, whatever the umask. */
static int make_database_file(const char *path, struct err *e)
{
	/* without a descriptor: closing one would release the locks of another
	 * thread that has opened the file in the meantime */
	if (mknod(path, S_IFREG | 0600, 0) && errno != EEXIST)
		return err_errno_set(e, "cannot open %s", path);
	return 0;
}

static int check_place(const char *path, unsigned flags, struct err *e)
{
	const char *net = file_network_fs(path);
	int mode = flags & SQL_READONLY ? R_OK : R_OK | W_OK;

	if (net)
		return err_set(e, ERR_UNSUPPORTED,
			       "%s is on a network file system (%s), where "
			       "SQLite's WAL does not work; use a SKEP_HOME "
			       "on a local disk",
			       path, net);
	if (sql_check_files(path, e))
		return -1;
	if (flags & SQL_CREATE && !file_exists(path))
		return make_database_file(path, e);
	if (access(path, mode) == 0)
		return 0;
	if (access(path, R_OK) == 0 && sql_place_refuses(path, e))
		return -1;
	return err_errno_set(e, "cannot open %s", path);
}

static int prepare_transactions(struct sql *db, struct err *e)
{
	int rc = sqlite3_prepare_v3(db->conn, "BEGIN IMMEDIATE", -1,
				    SQLITE_PREPARE_PERSISTENT, &db->begin,
				    NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v3(db->conn, "COMMIT", -1,
					SQLITE_PREPARE_PERSISTENT, &db->commit,
					NULL);
	return rc == SQLITE_OK ? 0 : sql_fail(db, rc, "prepare", e);
}

#define INCREMENTAL 2 /* PRAGMA auto_vacuum */

/* Must be set before the first table is created, except that sql_vacuum_all
 * may have died with another mode. It is read first: setting it writes to the
 * file each time, and an open would cost two syncs. */
static int set_auto_vacuum(struct sql *db, struct err *e)
{
	int64_t mode;

	if (sql_script_i64(db, "PRAGMA auto_vacuum", &mode, e))
		return -1;
	return mode == INCREMENTAL
		       ? 0
		       : sql_run(db, "PRAGMA auto_vacuum=INCREMENTAL", e);
}

/* In the write queue: if several processes switch a new file to WAL at once,
 * SQLite rejects all but one, and busy_timeout does not help. */
static int set_up_writing(struct sql *db, struct err *e)
{
	int bad;

	if (write_queue_open(&db->queue, db->path, e) ||
	    write_queue_enter(&db->queue, db->path, e))
		return -1;
	db->was_queued = true;
	bad = set_auto_vacuum(db, e) || sql_run(db, write_pragmas, e) ||
	      (!sql_log_fits(db) && sql_log_is_foreign(db, e));
	sql_note_companions(db);
	db->was_queued = false;
	write_queue_leave(&db->queue);
	return bad ? -1 : 0;
}

/* We do not use SQLite's memory statistics, and they cost a lock and an eighth
 * of the time of every allocation. */
static void configure_library(void)
{
	sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

int sql_connect(const char *path, int flags, sqlite3 **out)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct stat st;
	int rc;

	pthread_once(&once, configure_library);
	rc = sqlite3_open_v2(path, out, flags, NULL);
	/* no lock is taken before the first statement */
	if (rc == SQLITE_OK &&
	    stat(sqlite3_db_filename(*out, "main"), &st) == 0)
		open_files_add(&(struct open_file){*out, st.st_dev, st.st_ino});
	return rc;
}

void sql_disconnect(sqlite3 *conn)
{
	/* requested before: another thread may get the same address */
	struct open_file h = open_files_find(conn);

	sqlite3_close(conn);
	if (h.owner)
		open_files_remove(&h);
}

static int connect_file(struct sql *db, unsigned flags, struct err *e)
{
	bool readonly = flags & SQL_READONLY;
	char *uri = readonly ? sql_uri_without_writes(db->path) : NULL;
	int rc = sql_connect(
		uri ? uri : db->path,
		(readonly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE) |
			(uri ? SQLITE_OPEN_URI : 0) | SQLITE_OPEN_NOMUTEX |
			SQLITE_OPEN_EXRESCODE,
		&db->conn);

	free(uri);
	return rc == SQLITE_OK ? 0 : sql_fail(db, rc, "open", e);
}

/* Closing a connection that has not read anything leaves the file alone. */
static int inspect_file(struct sql *db, const struct sql_inspection *before,
			struct err *e)
{
	if (!before || before->inspect(db, before->arg, e) == 0)
		return 0;
	sql_disconnect(db->conn);
	db->conn = NULL;
	return -1;
}

static int set_up_connection(struct sql *db, struct err *e)
{
	if (sql_run(db, pragmas, e))
		return -1;
	log_watch(db);
	if (db->readonly)
		sql_note_companions(db);
	else if (set_up_writing(db, e))
		return -1;
	return prepare_transactions(db, e);
}

int sql_open_inspected(struct sql **out, const char *path,
		       const struct sql_set *set, unsigned flags,
		       const struct sql_inspection *before, struct err *e)
{
	size_t count = set ? set->count : 0;
	struct sql *db;

	if (check_place(path, flags, e))
		return -1;
	db = calloc(1, sizeof *db + count * sizeof db->stmts[0]);
	if (!db)
		abort();
	db->set = set;
	db->queue.fd = -1;
	db->readonly = flags & SQL_READONLY;
	db->always_full = flags & SQL_FULL;
	db->full = true; /* as the pragmas say */
	db->path = strdup(path);
	if (!db->path)
		abort();
	if (connect_file(db, flags, e) || inspect_file(db, before, e) ||
	    set_up_connection(db, e)) {
		sql_close(db);
		return -1;
	}
	*out = db;
	return 0;
}

int sql_open(struct sql **out, const char *path, const struct sql_set *set,
	     unsigned flags, struct err *e)
{
	return sql_open_inspected(out, path, set, flags, NULL, e);
}

void sql_close(struct sql *db)
{
	if (!db)
		return;
	for (unsigned i = 0; db->set && i < db->set->count; i++)
		sqlite3_finalize(db->stmts[i].st);
	log_before_close(db);
	sqlite3_finalize(db->begin);
	sqlite3_finalize(db->begin_read);
	sqlite3_finalize(db->commit);
	for (int i = 0; i < SQL_SAVEPOINT_STMTS; i++)
		sqlite3_finalize(db->savepoint[i]);
	sql_disconnect(db->conn);
	write_queue_close(&db->queue);
	free(db->path);
	free(db);
}

void sql_close_as_is(struct sql *db)
{
	log_keep(db);
	sql_close(db);
}

const char *sql_path(const struct sql *db)
{
	return db->path;
}

const struct sql_set *sql_queries(const struct sql *db)
{
	return db->set;
}

int sql_run(struct sql *db, const char *text, struct err *e)
{
	int rc = sqlite3_exec(db->conn, text, NULL, NULL, NULL);

	return rc == SQLITE_OK ? 0 : sql_fail(db, rc, "script", e);
}

int sql_script(struct sql *db, const char *text, struct err *e)
{
	int rc;

	if (db->depth > 0)
		return sql_run(db, text, e);
	if (sql_set_full(db, true, e) ||
	    write_queue_enter(&db->queue, db->path, e))
		return -1;
	db->was_queued = true;
	rc = sql_in_place(db, e) ? -1 : sql_run(db, text, e);
	log_after_commit(db);
	db->was_queued = false;
	write_queue_leave(&db->queue);
	return rc;
}

static int script_row(struct sql *db, const char *text, sqlite3_stmt **st,
		      struct err *e)
{
	int rc = sqlite3_prepare_v2(db->conn, text, -1, st, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_step(*st);
	if (!sql_failed(rc))
		return rc == SQLITE_ROW;
	sql_fail(db, rc, text, e);
	sqlite3_finalize(*st);
	return -1;
}

int sql_script_i64(struct sql *db, const char *text, int64_t *out,
		   struct err *e)
{
	sqlite3_stmt *st;
	int row = script_row(db, text, &st, e);

	if (row < 0)
		return -1;
	*out = row ? sqlite3_column_int64(st, 0) : 0;
	sqlite3_finalize(st);
	return 0;
}

int sql_script_text(struct sql *db, const char *text, struct arena *a,
		    const char **out, struct err *e)
{
	sqlite3_stmt *st;
	int row = script_row(db, text, &st, e);
	const char *got;

	if (row < 0)
		return -1;
	got = row ? (const char *)sqlite3_column_text(st, 0) : NULL;
	*out = arena_text(a, got ? got : "");
	sqlite3_finalize(st);
	return 0;
}

int64_t sql_last_rowid(const struct sql *db)
{
	return sqlite3_last_insert_rowid(db->conn);
}

uint64_t sql_commits(const struct sql *db)
{
	return db->commits;
}

uint32_t sql_generation(const struct sql *db)
{
	assert(db->depth > 0);
	return db->generation;
}

void sql_interrupt(struct sql *db)
{
	sqlite3_interrupt(db->conn);
	write_queue_interrupt(&db->queue);
}

int sql_remake(struct sql *db, const char *name, struct err *e)
{
	struct arena a = {0};
	const char *create;
	char text[160];
	int rc;

	snprintf(text, sizeof text,
		 "SELECT sql FROM sqlite_schema WHERE name = '%s'", name);
	rc = sql_script_text(db, text, &a, &create, e);
	snprintf(text, sizeof text, "DROP TABLE %s", name);
	if (rc == 0)
		rc = sql_script(db, text, e) || sql_script(db, create, e) ? -1
									  : 0;
	arena_fini(&a);
	return rc;
}
