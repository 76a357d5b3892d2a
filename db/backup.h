#ifndef DB_BACKUP_H
#define DB_BACKUP_H

#include "base/arena.h"
#include "db/sql.h"

/*
 * Copies of a database, and whether a copy is whole. A copy is compact, one
 * file without -wal and -shm, and holds what was committed when it began;
 * writers go on meanwhile.
 */

/* Copies `path`, which others may be writing, to the new file `to` (0600). It
 * is not yet on the disk. ERR_FULL and other failures leave no file behind. */
int db_snapshot(const char *path, const char *to, struct err *e);

/* What is in a file that nobody writes. */
struct db_health {
	int64_t pages;
	int64_t page_size;
	int version;            /* of the schema */
	int32_t application_id; /* which kind of database */
	const char *problem;    /* in the arena; NULL: whole */
};

/* integrity_check and foreign_key_check. The file is not changed, and nothing
 * is made beside it. -1 only if it cannot be read at all. */
int db_check(const char *path, struct db_health *out, struct arena *a,
	     struct err *e);

/* The same for a file that is in use, table by table: each is read as of a
 * moment of its own. *problem is NULL if it is whole, else in the arena. */
int db_check_live(const char *path, const char **problem, struct arena *a,
		  struct err *e);

/* Proves that nobody else has the file open, and makes it one file without a
 * log: leaving WAL needs both. ERR_BUSY if somebody has it. */
int db_alone(struct sql *db, struct err *e);

/* Removes a database with its sidecars; what is not there is fine. The log goes
 * first: a database without its log is still a database. */
int db_remove(const char *path, struct err *e);

#endif
