#ifndef LIB_DB_INTERNAL_H
#define LIB_DB_INTERNAL_H

#include "lib/db/sql.h"
#include "lib/db/write_queue.h"

#include <sqlite3.h>
#include <sys/types.h>

/* The internals of a connection. */

enum sql_savepoint_stmt {
	SQL_SAVEPOINT_BEGIN,
	SQL_SAVEPOINT_UNDO,
	SQL_SAVEPOINT_RELEASE,
	SQL_SAVEPOINT_STMTS
};

struct stmt {
	sqlite3_stmt *st; /* NULL until first used */
	int rc;           /* why it could not be prepared */
	bool busy;
};

struct sql {
	sqlite3 *conn;
	const struct sql_set *set;
	char *path;
	struct write_queue queue;
	sqlite3_stmt *begin;
	sqlite3_stmt *begin_read; /* NULL until first used */
	sqlite3_stmt *commit;
	sqlite3_stmt *savepoint[SQL_SAVEPOINT_STMTS]; /* NULL until used */
	int depth;                                    /* of sql_enter */
	bool doomed; /* something inside failed: no commit */
	bool writing;
	uint32_t noticed; /* SQLite's count when our last transaction ended */
	uint32_t generation; /* see sql_generation */
	uint64_t commits;    /* see sql_commits */
	bool readonly;
	bool always_full;      /* opened with SQL_FULL */
	bool deferred;         /* see sql_defer_sync */
	bool full;             /* synchronous=FULL at the moment */
	struct sql_companion { /* a file beside ours, as first seen */
		dev_t dev;
		ino_t ino; /* 0: not yet */
	} log, index;
	int64_t place_checked; /* clock_mono_ns of the last sql_in_place */
	int64_t lock_until;    /* of the wait for SQLite's lock */
	bool watched;          /* see sql_watch */
	bool ranks;            /* see sql_rank */
	bool was_queued;       /* began to write while first in the queue */
	bool stays_queued_;    /* has not left the queue since */
	bool log_grew;         /* we have committed since the last checkpoint */
	int log_frames;        /* in the log when we last committed */
	int log_limit;         /* see sql_checkpoint_at */
	int checkpoint_at; /* frames from which the next checkpoint is due */
	int bulks;         /* see sql_bulk_begin */
	struct sql_lock_time held, began;
	struct stmt stmts[];
};

/* sqlite3_open_v2 with the default VFS; configures the library at first use.
 * Every connection of skep is opened and closed here, and meanwhile its file is
 * registered in lib/os/open_files.h. Only SQLite writes the log: no layer of ours may
 * delay, merge or reorder its writes. */
int sql_connect(const char *path, int flags, sqlite3 **out);
void sql_disconnect(sqlite3 *conn); /* accepts NULL */

/* sql_open with a check of the file before SQLite reads it as a database, so
 * that a rejected file gets no new -wal or -shm. */
struct sql_inspection {
	int (*inspect)(struct sql *db, const void *arg, struct err *e);
	const void *arg;
};
int sql_open_inspected(struct sql **out, const char *path,
		       const struct sql_set *set, unsigned flags,
		       const struct sql_inspection *before, struct err *e);

/* Closes without copying the WAL into the file: for a file that we reject. */
void sql_close_as_is(struct sql *db);

/* Literal SQL that does not write, or is inside a transaction or in the
 * queue. */
int sql_run(struct sql *db, const char *text, struct err *e);

/* BEGIN IMMEDIATE and COMMIT alone. */
int sql_begin(struct sql *db, struct err *e);
int sql_commit(struct sql *db, struct err *e);

/* lib/db/checkpoint.c */
void log_watch(struct sql *db);         /* right after the open */
bool log_is_long(const struct sql *db); /* a checkpoint is due */
void log_after_commit(struct sql *db);  /* still first in the queue */
void log_before_close(struct sql *db);
void log_keep(struct sql *db); /* closing does not touch the log */

/* Remembers which -wal and -shm the connection uses. */
void sql_note_companions(struct sql *db);

/* Whether log and index belong together; the error if not. Call it after the
 * open, at the head of the queue. */
bool sql_log_fits(struct sql *db);
int sql_log_is_foreign(const struct sql *db, struct err *e); /* -1 */

/* Sets synchronous to FULL or NORMAL. Outside of transactions. */
int sql_set_full(struct sql *db, bool full, struct err *e);

/* lib/db/sql_place.c: how to read a database in a directory that cannot be
 * written; NULL if it can. The caller frees it. */
char *sql_uri_without_writes(const char *path);

/* The only place that maps SQLite's codes to ours. */
bool sql_failed(int rc);
int sql_fail(struct sql *db, int rc, const char *what, struct err *e);

/* ERR_INVALID if a file of the database exists and is not a regular one. */
int sql_check_files(const char *path, struct err *e);

#endif
