#ifndef LIB_DB_MIGRATE_H
#define LIB_DB_MIGRATE_H

#include "lib/db/sql.h"

/*
 * Migrates a file to the schema of this program. Two passes, both idempotent
 * and safe to kill at any point: numbered migrations (PRAGMA user_version, one
 * transaction each), then columns of later versions that are missing. A file of
 * a newer version, or of another kind, is rejected before anything in it
 * changes.
 */
struct db_migration {
	const char *name; /* "0001_init" */
	const char *text;
	/* The migration rebuilds a table: foreign keys are off around it
	 * (inside a transaction that pragma has no effect) and checked before
	 * its commit. */
	bool rebuild;
};

struct db_column {
	const char *table;
	const char *column;
	const char *text; /* ALTER TABLE … ADD COLUMN … */
};

struct db_schema {
	const char *kind; /* "control plane", "agent file": for messages */
	int32_t application_id;
	const struct db_migration *migrations; /* version = index + 1 */
	int version;                           /* number of migrations */
	const struct db_column *columns;
	unsigned ncolumns;
	const struct sql_set *queries;
	/* Called inside the transaction of each change to an existing file; -1
	 * rejects it. NULL: every process that opens the file may change it. */
	int (*may_change)(struct sql *db, struct err *e);
};

/* A migration that takes long. */
struct db_migrating {
	const char *kind, *path;
	int version, last; /* the version in progress, and the last one */
	int seconds;       /* since this migration began */
};

typedef void db_migrating_fn(const struct db_migrating *m);

/* Calls fn each time this many ms of a migration have passed, in this process.
 * The default logs a line each second. Set it before other threads run. */
void db_watch_migrations(db_migrating_fn *fn, int every_ms);

/* sql_open and migrate in one. */
int db_open(struct sql **out, const char *path, const struct db_schema *schema,
	    unsigned flags, struct err *e);

/* The schema version in the file's header, without opening it as a database: -1
 * if it is not a database, 0 for an empty file. */
int db_peek_version(const char *path);

#endif
