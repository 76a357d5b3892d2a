#ifndef TESTS_SUPPORT_WAL_H
#define TESTS_SUPPORT_WAL_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * A second opinion on a write-ahead log: reads the file as SQLite's documentation
 * of the format has it, through a descriptor of its own. (The log carries no locks,
 * so closing that descriptor does no harm. The database and the -shm are never
 * opened here.)
 */
struct wal {
	uint32_t salt[2];
	uint32_t sum[2];
	uint32_t frames; /* valid ones, from the first on */
	uint32_t commit; /* the last of them that ends a transaction */
};

/* How far the log is valid, at most up to `last`. Goes on from *w if the log is
 * still the same, else from the start. False: it has no valid header. */
bool wal_read(const char *db_path, uint32_t last, struct wal *w);

/* What the index in shared memory says, through the connection's own mapping. */
struct wal_index {
	uint32_t last;   /* mxFrame: frames that readers may use */
	uint32_t copied; /* nBackfill */
};
struct wal_index wal_index(sqlite3 *conn);

/* With SQLite's write lock, taken by `conn` for the moment: the log is valid up to
 * its last frame, and that ends a transaction. NULL, or what is wrong. Goes on
 * from *w as wal_read does. */
const char *wal_check(sqlite3 *conn, const char *db_path, struct wal *w);

#endif
