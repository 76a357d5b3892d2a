#ifndef LIB_DB_SNAPSHOT_H
#define LIB_DB_SNAPSHOT_H

#include "lib/db/sql.h"

/*
 * Copies of a database. A copy is compact, without -wal and -shm, and holds what
 * was committed when it began; writers go on meanwhile.
 */

/* Copies `path`, which others may be writing, to the new file `to` (0600). It
 * is not yet on the disk. ERR_FULL and other failures leave no file behind. */
int db_snapshot(const char *path, const char *to, struct err *e);

/* All pages as they are, holes too: for who wants to try something on a copy. */
int db_clone(const char *path, const char *to, struct err *e);

/* The same in memory, for small databases: 1, or 0 for one that is too large, or
 * has nothing in it. Pages come as they are, damaged ones too. */
struct db_image {
	unsigned char *bytes;
	int64_t n;
};

int db_image_take(const char *path, struct db_image *image, struct err *e);
void db_image_free(struct db_image *image);

/* Proves that nobody else has the file open, and makes it one file without a
 * log: leaving WAL needs both. ERR_BUSY if somebody has it. */
int db_alone(struct sql *db, struct err *e);

/* Removes a database with its sidecars; what is not there is fine. The log goes
 * first: a database without its log is still a database. */
int db_remove(const char *path, struct err *e);

#endif
