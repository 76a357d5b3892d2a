/* When a commit is on disk, and whether its file still has its name. */
#include "lib/db/internal.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define INDEX_REGION 32768 /* SQLite maps its index in regions of this size */

int sql_set_full(struct sql *db, bool full, struct err *e)
{
	int rc;

	assert(db->depth == 0 && "synchronous is fixed inside a transaction");
	if (db->full == full)
		return 0;
	rc = sqlite3_exec(db->conn,
			  full ? "PRAGMA synchronous=FULL"
			       : "PRAGMA synchronous=NORMAL",
			  NULL, NULL, NULL);
	if (rc != SQLITE_OK)
		return sql_fail(db, rc, "synchronous", e);
	db->full = full;
	return 0;
}

void sql_defer_sync(struct sql *db, bool defer)
{
	assert(db->depth == 0);
	db->deferred = defer && !db->always_full;
}

/* Uses SQLite's own descriptor of the log, which also syncs the name of a new
 * log. A checkpoint syncs what it copies, so frames that are no longer in the
 * log are on disk as well. */
int sql_sync(struct sql *db, struct err *e)
{
	sqlite3_file *log = NULL;
	int rc = sqlite3_file_control(db->conn, "main",
				      SQLITE_FCNTL_JOURNAL_POINTER, &log);

	assert(db->depth == 0 || !db->writing);
	if (rc == SQLITE_OK && log && log->pMethods)
		rc = log->pMethods->xSync(log, SQLITE_SYNC_NORMAL);
	if (rc != SQLITE_OK)
		return err_set(e, ERR_IO, "%s: cannot sync the log to disk",
			       db->path);
	return sql_in_place(db, e);
}

/* When the last process that has a lost log open closes it, SQLite still copies
 * the log into the file. */
static int moved(const struct sql *db, const char *suffix, struct err *e)
{
	return err_set(e, ERR_MOVED,
		       "%s%s was deleted or replaced while it was in use: "
		       "nothing more is written to it; %s",
		       db->path, suffix,
		       *suffix ? "'skep restart' (of an agent's file: the end "
				 "of its runs) saves its content and makes a "
				 "new one"
			       : "stop skep, put the file back or restore a "
				 "backup, and start it again");
}

/* Log and index are created at the first use and stay while any connection is
 * open. Processes with different indexes do not see each other's locks. */
static bool has_companion(const struct sql *db, const char *suffix,
			  struct sql_companion *c)
{
	struct stat st;
	char path[PATH_MAX];

	snprintf(path, sizeof path, "%s%s", db->path, suffix);
	if (stat(path, &st))
		return c->ino == 0;
	if (c->ino == 0)
		*c = (struct sql_companion){st.st_dev, st.st_ino};
	return st.st_ino == c->ino && st.st_dev == c->dev;
}

void sql_note_companions(struct sql *db)
{
	(void)has_companion(db, "-wal", &db->log);
	(void)has_companion(db, "-shm", &db->index);
}

/* Whether SQLite has the log open, which is the case after the first read.
 * Without it, SQLite would not unmap an index that we made it map. */
static bool has_log(struct sql *db)
{
	sqlite3_stmt *st = NULL;
	struct err ignored;
	int64_t version;
	bool has;

	if (sql_script_i64(db, "PRAGMA schema_version", &version, &ignored))
		return false;
	has = sqlite3_prepare_v2(db->conn, "PRAGMA journal_mode", -1, &st,
				 NULL) == SQLITE_OK &&
	      sqlite3_step(st) == SQLITE_ROW &&
	      !strcmp((const char *)sqlite3_column_text(st, 0), "wal");
	sqlite3_finalize(st);
	return has;
}

/* Frames in the log according to the index that all processes share (mxFrame of
 * SQLite's WalIndexHdr). */
static uint32_t frames_in_index(struct sql *db)
{
	sqlite3_file *file = NULL;
	void volatile *index = NULL;

	sqlite3_file_control(db->conn, "main", SQLITE_FCNTL_FILE_POINTER,
			     &file);
	if (!file || !file->pMethods || file->pMethods->iVersion < 2 ||
	    file->pMethods->xShmMap(file, 0, INDEX_REGION, 0, &index) || !index)
		return 0;
	return ((uint32_t volatile *)index)[4];
}

static bool log_has_header(struct sql *db)
{
	sqlite3_file *log = NULL;
	unsigned char head[4] = {0};

	sqlite3_file_control(db->conn, "main", SQLITE_FCNTL_JOURNAL_POINTER,
			     &log);
	return log && log->pMethods &&
	       log->pMethods->xRead(log, head, sizeof head, 0) == SQLITE_OK &&
	       head[0] == 0x37 && head[1] == 0x7f;
}

/*
 * A process that opens the database after its log was deleted gets a new log,
 * but the index of the processes that still have the old one. It would append
 * after frames that do not exist: the next recovery ignores them, and a
 * checkpoint copies zeros.
 */
bool sql_log_fits(struct sql *db)
{
	return !has_log(db) || frames_in_index(db) == 0 || log_has_header(db) ||
	       frames_in_index(db) == 0;
}

int sql_log_is_foreign(const struct sql *db, struct err *e)
{
	return err_set(e, ERR_MOVED,
		       "%s-wal was deleted or replaced while the "
		       "database was in use; the database is not "
		       "usable until the processes that have the "
		       "old log open end ('skep doctor' lists them)",
		       db->path);
}

/* No descriptor is opened: closing one would release SQLite's locks. */
const char *sql_lost(struct sql *db)
{
	int is_moved = 0;

	sqlite3_file_control(db->conn, "main", SQLITE_FCNTL_HAS_MOVED,
			     &is_moved);
	if (is_moved)
		return "";
	if (!has_companion(db, "-wal", &db->log))
		return "-wal";
	return has_companion(db, "-shm", &db->index) ? NULL : "-shm";
}

int sql_in_place(struct sql *db, struct err *e)
{
	const char *lost = sql_lost(db);

	return lost ? moved(db, lost, e) : 0;
}
