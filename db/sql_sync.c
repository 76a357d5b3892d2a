/* When a commit is on the disk, and whether its file still has its name. */
#include "db/sql_conn.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

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

/* Through SQLite's own descriptor of the log: that also writes the name of a
 * new log to the disk. A checkpoint syncs what it copies, so frames that are no
 * longer in the log are on the disk as well. */
int sql_sync(struct sql *db, struct err *e)
{
	sqlite3_file *log = NULL;
	int rc = sqlite3_file_control(db->conn, "main",
				      SQLITE_FCNTL_JOURNAL_POINTER, &log);

	assert(db->depth == 0 || !db->writing);
	if (rc == SQLITE_OK && log && log->pMethods)
		rc = log->pMethods->xSync(log, SQLITE_SYNC_NORMAL);
	if (rc != SQLITE_OK)
		return err_set(e, ERR_IO,
			       "%s: the log cannot be written to the disk",
			       db->path);
	return sql_in_place(db, e);
}

static int moved(const struct sql *db, const char *suffix, struct err *e)
{
	return err_set(e, ERR_MOVED,
		       "%s%s was deleted or replaced while it was in use: "
		       "nothing more is written to it; stop skep, put the file "
		       "back or restore a backup, and start it again",
		       db->path, suffix);
}

/* Log and index are made at the first use and stay while any connection is
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

/* No descriptor is opened: closing one would drop SQLite's locks. */
int sql_in_place(struct sql *db, struct err *e)
{
	int is_moved = 0;

	sqlite3_file_control(db->conn, "main", SQLITE_FCNTL_HAS_MOVED,
			     &is_moved);
	if (is_moved)
		return moved(db, "", e);
	if (!has_companion(db, "-wal", &db->log))
		return moved(db, "-wal", e);
	return has_companion(db, "-shm", &db->index) ? 0 : moved(db, "-shm", e);
}
