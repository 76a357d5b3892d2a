#ifndef LIB_DB_SNAPSHOT_H
#define LIB_DB_SNAPSHOT_H

#include "lib/db/sql.h"

/*
 * Copies of a database. A copy is compact, without -wal and -shm, and contains
 * what was committed when it began. Writers continue meanwhile.
 */

/* Copies `path`, which others may be writing, to the new file `to` (0600),
 * without a sync. ERR_FULL and other failures leave no file behind. */
int db_snapshot(const char *path, const char *to, struct err *e);

/* Copies all pages unchanged, including free ones: for trial runs on a copy. */
int db_clone(const char *path, const char *to, struct err *e);

/* The same in memory, for small databases: 1, or 0 if it is too large or empty.
 * Pages are copied unchanged, including damaged ones. */
struct db_image {
	unsigned char *bytes;
	int64_t n;
};

int db_image_take(const char *path, struct db_image *image, struct err *e);
void db_image_free(struct db_image *image);

/* Proves that no other process has the file open, and makes it one file without
 * a log: leaving WAL mode needs both. ERR_BUSY if another process has it. */
int db_alone(struct sql *db, struct err *e);

/* Deletes a database with its -wal and -shm; missing files are fine. The log is
 * deleted first: a database without its log is still a database. */
int db_remove(const char *path, struct err *e);

#endif
