#ifndef LIB_DB_SAVEPOINT_H
#define LIB_DB_SAVEPOINT_H

#include "lib/db/sql.h"

/*
 * A part of a write transaction that can fail on its own. Savepoints nest, and
 * each must end in the transaction in which it began:
 *
 *   if (sql_savepoint_begin(db, &sp, e)) return -1;
 *   return sql_savepoint_end(db, &sp, part(db, …, e), e);
 *
 * sql_savepoint_end undoes the changes of the part if rc is negative or if an
 * sql_leave inside reported a failure; the transaction can then still commit. It
 * returns rc, or -1. If SQLite has rolled back the whole transaction (no space, for
 * one), nothing of it is left: sql_is_doomed is true, and it will not commit.
 */
struct sql_savepoint {
	bool marked; /* by sql_savepoint_mark */
	bool doomed; /* before it began */
	int changes; /* rows of the connection that had changed by then */
};

int sql_savepoint_begin(struct sql *db, struct sql_savepoint *sp,
			struct err *e);
int sql_savepoint_end(struct sql *db, const struct sql_savepoint *sp, int rc,
		      struct err *e);

/* The same without SAVEPOINT, which costs a copy of every page that the part
 * changes: a failed part that has changed rows dooms the whole transaction. */
void sql_savepoint_mark(struct sql *db, struct sql_savepoint *sp);

/* The transaction will be rolled back, regardless of the rc given to its
 * sql_leave. */
bool sql_is_doomed(const struct sql *db);

#endif
