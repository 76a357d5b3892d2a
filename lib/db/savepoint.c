#include "lib/db/savepoint.h"

#include "lib/db/internal.h"

#include <assert.h>

/* One name for all: SQLite uses the innermost. */
static const char *const texts[SQL_SAVEPOINT_STMTS] = {
	[SQL_SAVEPOINT_BEGIN] = "SAVEPOINT part",
	[SQL_SAVEPOINT_UNDO] = "ROLLBACK TO part",
	[SQL_SAVEPOINT_RELEASE] = "RELEASE part",
};

static int run(struct sql *db, enum sql_savepoint_stmt which, struct err *e)
{
	sqlite3_stmt **st = &db->savepoint[which];
	int rc = SQLITE_OK;

	if (!*st)
		rc = sqlite3_prepare_v3(db->conn, texts[which], -1,
					SQLITE_PREPARE_PERSISTENT, st, NULL);
	if (rc == SQLITE_OK) {
		rc = sqlite3_step(*st);
		sqlite3_reset(*st);
	}
	return sql_failed(rc) ? sql_fail(db, rc, texts[which], e) : 0;
}

static bool rolled_back(const struct sql *db)
{
	return sqlite3_get_autocommit(db->conn) != 0;
}

void sql_savepoint_mark(struct sql *db, struct sql_savepoint *sp)
{
	assert(db->depth > 0 && db->writing);
	*sp = (struct sql_savepoint){
		.marked = true,
		.doomed = db->doomed,
		.changes = sqlite3_total_changes(db->conn),
	};
}

int sql_savepoint_begin(struct sql *db, struct sql_savepoint *sp, struct err *e)
{
	sql_savepoint_mark(db, sp);
	sp->marked = false;
	/* A savepoint outside of a transaction would begin one. */
	if (rolled_back(db)) {
		db->doomed = true;
		return err_set(e, ERR_IO, "%s: the transaction was rolled back",
			       db->path);
	}
	return run(db, SQL_SAVEPOINT_BEGIN, e);
}

static int undo(struct sql *db, const struct sql_savepoint *sp)
{
	struct err ignored;

	if (rolled_back(db))
		return -1;
	if (sp->marked)
		return sqlite3_total_changes(db->conn) == sp->changes ? 0 : -1;
	return run(db, SQL_SAVEPOINT_UNDO, &ignored) ||
			       run(db, SQL_SAVEPOINT_RELEASE, &ignored)
		       ? -1
		       : 0;
}

int sql_savepoint_end(struct sql *db, const struct sql_savepoint *sp, int rc,
		      struct err *e)
{
	assert(db->depth > 0);
	if (rc >= 0 && db->doomed && !sp->doomed)
		rc = err_set(
			e, ERR_INTERNAL,
			"%s: a failed part of a transaction was carried on",
			db->path);
	if (rc >= 0 && !sp->marked && run(db, SQL_SAVEPOINT_RELEASE, e))
		rc = -1;
	if (rc < 0)
		db->doomed = undo(db, sp) ? true : sp->doomed;
	return rc;
}

bool sql_is_doomed(const struct sql *db)
{
	return db->doomed;
}
