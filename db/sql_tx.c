/* Transactions of a connection. */
#include "db/sql_conn.h"

#include "base/file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

static int step_once(struct sql *db, sqlite3_stmt *st, const char *what,
		     struct err *e)
{
	int rc = sqlite3_step(st);
	int bad = sql_failed(rc) ? sql_fail(db, rc, what, e) : 0;

	sqlite3_reset(st);
	return bad;
}

/* SQLite counts the commits that it has noticed, our own among them; a
 * connection notices others only when a transaction begins. So the number can
 * differ between our last end and our next begin by others' doing alone. */
static uint32_t commits_noticed(struct sql *db)
{
	uint32_t v = 0;

	sqlite3_file_control(db->conn, "main", SQLITE_FCNTL_DATA_VERSION, &v);
	return v;
}

int sql_enter(struct sql *db, struct err *e)
{
	if (db->depth > 0) {
		assert(db->writing && "no write inside sql_enter_read");
		db->depth++;
		return 0;
	}
	if (turn_take(&db->turn, db->path, e))
		return -1;
	if (step_once(db, db->begin, "begin", e)) {
		turn_leave(&db->turn);
		return -1;
	}
	db->depth = 1;
	db->doomed = false;
	db->writing = true;
	if (commits_noticed(db) != db->noticed)
		db->generation++;
	return 0;
}

int sql_enter_read(struct sql *db, struct err *e)
{
	if (db->depth == 0 && sql_script(db, "BEGIN", e))
		return -1;
	if (db->depth++ == 0) {
		db->doomed = false;
		db->writing = false;
	}
	return 0;
}

static void roll_back(struct sql *db)
{
	if (!sqlite3_get_autocommit(db->conn))
		sqlite3_exec(db->conn, "ROLLBACK", NULL, NULL, NULL);
}

int sql_leave(struct sql *db, int rc, struct err *e)
{
	bool bad = rc < 0;

	assert(db->depth > 0);
	db->doomed = db->doomed || bad;
	if (--db->depth > 0)
		return rc;
	if (!db->doomed && step_once(db, db->commit, "commit", e)) {
		db->doomed = true;
		bad = true;
	} else if (db->doomed && !bad) {
		/* an inner failure that somebody swallowed */
		err_set(e, ERR_INTERNAL,
			"%s: a failed transaction was "
			"carried on",
			db->path);
		bad = true;
	}
	if (db->doomed)
		roll_back(db);
	if (db->writing) {
		db->noticed = commits_noticed(db);
		db->commits += !db->doomed;
		turn_leave(&db->turn);
	}
	return bad ? -1 : rc;
}

bool sql_in_transaction(const struct sql *db)
{
	return db->depth > 0;
}

int sql_durable(struct sql *db, bool full, struct err *e)
{
	assert(db->depth == 0 && "synchronous is fixed inside a transaction");
	full = full || db->always_full;
	if (db->full == full)
		return 0;
	if (sql_script(db,
		       full ? "PRAGMA synchronous=FULL"
			    : "PRAGMA synchronous=NORMAL",
		       e))
		return -1;
	db->full = full;
	return 0;
}

int sql_flush(struct sql *db, struct err *e)
{
	char wal[PATH_MAX + 8];
	int fd, rc;

	assert(db->depth == 0);
	snprintf(wal, sizeof wal, "%s-wal", db->path);
	fd = open(wal, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_errno_set(e, "%s", wal);
	rc = fdatasync(fd) ? err_errno_set(e, "%s", wal) : 0;
	close(fd);
	return rc;
}
