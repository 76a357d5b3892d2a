#ifndef LIB_DB_SQL_H
#define LIB_DB_SQL_H

#include "lib/base/arena.h"
#include "lib/base/err.h"
#include "lib/base/shape.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * One SQLite connection and its statements. Queries are in .sql files and have
 * numbers (tools/sqlgen.c generates the table, the structs and the enum); each
 * is prepared at first use and kept. Each connection is used by one thread,
 * except for sql_interrupt. This header hides sqlite3.h from all other
 * directories.
 */
struct sql;

struct sql_query {
	const char *name;
	const char *text;
	const struct shape *in; /* struct whose fields the parameters are */
	const unsigned char *in_map; /* field of `in` for each parameter */
	unsigned nparams;
	const struct shape *out; /* struct of a row, filled column by column */
};

struct sql_set { /* all queries of one kind of database */
	const struct sql_query *queries;
	unsigned count;
};

enum sql_flags {
	SQL_CREATE = 1 << 0,   /* create the file, 0600, if it does not exist */
	SQL_READONLY = 1 << 1, /* never writes; the file must exist */
	SQL_FULL = 1 << 2,     /* sql_enter_relaxed waits for the disk, too */
};

/*
 * Opens path with the pragmas of every connection: WAL, busy_timeout 30 s,
 * foreign_keys, secure_delete off, synchronous=FULL. Refuses WAL on network
 * filesystems. Borrows `set` for the life of *out; it may be NULL (scripts
 * only).
 */
int sql_open(struct sql **out, const char *path, const struct sql_set *set,
	     unsigned flags, struct err *e);
void sql_close(struct sql *db); /* accepts NULL */
const char *sql_path(const struct sql *db);
const struct sql_set *sql_queries(const struct sql *db);

/* -1 with the reason if no file can grow beside `path` (no space, a read-only
 * filesystem, no permission), else 0. A database in such a place can be read
 * with SQL_READONLY. */
int sql_place_refuses(const char *path, struct err *e);

/* Literal SQL with any number of statements: pragmas and migrations only.
 * Outside of a transaction it waits in the write queue. */
int sql_script(struct sql *db, const char *text, struct err *e);

/* The single number or text that a literal query returns. Without a row: 0,
 * "". */
int sql_script_i64(struct sql *db, const char *text, int64_t *out,
		   struct err *e);
int sql_script_text(struct sql *db, const char *text, struct arena *a,
		    const char **out, struct err *e);

/* Drops a table and creates it again, empty, from its own definition. This also
 * removes a damaged index. `name` is one of our tables. */
int sql_remake(struct sql *db, const char *name, struct err *e);

/*
 * Transactions nest: the outermost sql_enter is BEGIN IMMEDIATE, its sql_leave
 * is COMMIT if rc is 0 and nothing inside failed, else ROLLBACK. sql_leave
 * returns rc, or -1 when the commit itself failed:
 *
 *   if (sql_enter(db, e)) return -1;
 *   return sql_leave(db, steps(db, …, e), e);
 *
 * A committed transaction is on disk when sql_leave returns, so its caller may
 * acknowledge it. sql_enter_relaxed does not wait for the disk: for data that
 * has not been acknowledged yet, and that a later sql_enter or sql_sync covers.
 * docs/OPERATIONS.md lists its users. The outermost call decides.
 *
 * sql_enter_read is for several reads of one consistent state; nothing may
 * write in it.
 */
int sql_enter(struct sql *db, struct err *e);
int sql_enter_relaxed(struct sql *db, struct err *e);
int sql_enter_read(struct sql *db, struct err *e);
int sql_leave(struct sql *db, int rc, struct err *e);
bool sql_in_transaction(const struct sql *db);
bool sql_is_writing(const struct sql *db); /* not after sql_enter_read */

/* Waits until everything that processes have committed to this file is on disk.
 * Call it outside of write transactions. */
int sql_sync(struct sql *db, struct err *e);

/* Defers the wait for the disk: until it is called with false, sql_enter
 * behaves as sql_enter_relaxed. For several changes that are acknowledged
 * together after one sql_sync. Call it outside of transactions. */
void sql_defer_sync(struct sql *db, bool defer);

/* Deleted or replaced since the open (ERR_MOVED): "", "-wal" or "-shm"; or
 * NULL. */
const char *sql_lost(struct sql *db);
int sql_in_place(struct sql *db, struct err *e);

/*
 * Sets the size of the page cache; the default is SQL_CACHE_KIB. A transaction
 * that outgrows it writes pages to the log early (cache_spill), and if it
 * changes such a page again, SQLite reads the log back at the commit to renew
 * the checksums. With cache_spill=OFF, memory would grow with the transaction
 * without a limit (78 MB for a log of 70 MB, at the same CPU time). So spilling
 * is on, and a caller that expects a large transaction enlarges the cache here.
 */
int sql_cache(struct sql *db, int kib, struct err *e);

/* Steps of SQLite's virtual machine, of all cached statements, since the last
 * call: a measure of work that does not depend on the machine. */
int64_t sql_steps(struct sql *db);

/* Pages read into the cache and written from it since the last call. */
int64_t sql_pages(struct sql *db);
#define SQL_CACHE_KIB 2000

/* Runs a query that returns no rows. Returns the number of changed rows, or
 * -1. */
int sql_exec(struct sql *db, unsigned query, const void *in, struct err *e);

/* The first row, with its texts and blobs copied to the arena: 1, or 0 if there
 * is none, or -1. With a NULL arena, the row may contain numbers only. */
int sql_get(struct sql *db, unsigned query, const void *in, void *row,
	    struct arena *a, struct err *e);

/* All rows, at most max, as an array in the arena: how many, or -1. */
int sql_collect(struct sql *db, unsigned query, const void *in, int max,
		void *rows_out, struct arena *a, struct err *e);

/*
 * Walks rows:   struct sql_rows it = sql_rows(db, Q_RUN_LIVE, &key);
 *               while (sql_next(&it, &row)) …
 *               if (sql_end(&it, e)) return -1;
 * `row` borrows from the statement until the next call on `it`. The first
 * failure sticks and is returned by sql_end, which must always be called. Do
 * not wait inside: an open walk pins the WAL.
 */
struct sql_rows {
	struct sql *db;
	unsigned query;
	int rc;
};

struct sql_rows sql_rows(struct sql *db, unsigned query, const void *in);
bool sql_next(struct sql_rows *it, void *row);
int sql_end(struct sql_rows *it, struct err *e);

int64_t sql_last_rowid(const struct sql *db);

/* How long the longest write transaction since sql_watch kept other writers
 * out: by the clock, and the CPU time alone, which does not depend on other
 * load. */
struct sql_lock_time {
	int64_t ns;
	int64_t cpu_ns;
};

void sql_watch(struct sql *db);
struct sql_lock_time sql_longest(const struct sql *db);

/* Inside a write transaction: a number that is the same as in our last one if
 * no other connection has committed in between, so that what was read then is
 * still valid. (It may also change without need, after a rollback or a write
 * outside sql_enter.) */
uint32_t sql_generation(const struct sql *db);

/* The number of write transactions that this connection has committed. */
uint64_t sql_commits(const struct sql *db);

/* From any thread: the current operation ends with ERR_CANCELED. */
void sql_interrupt(struct sql *db);

/* When the last connection closes, SQLite copies the log into the file and
 * waits for the disk. With this, closing leaves a WAL of up to `bytes` for the
 * next connection: much cheaper for a file that is opened again soon. */
void sql_keep_wal(struct sql *db, int64_t bytes);

/* Prepares every query, so that a test can check them all against the
 * schema. */
int sql_check(struct sql *db, struct err *e);

#endif
