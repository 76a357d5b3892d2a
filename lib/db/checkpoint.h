#ifndef LIB_DB_CHECKPOINT_H
#define LIB_DB_CHECKPOINT_H

#include "lib/db/sql.h"

/*
 * A checkpoint copies the log into the file. FULL copies, RESTART also makes
 * the next writer start at the beginning of the log, TRUNCATE empties the log.
 * It runs at the head of the write queue and with SQLite's write lock;
 * lib/db/checkpoint.c explains why. If a reader or a writer is in the way, it
 * waits outside of the queue, wait_ms in total (0: one attempt); then `busy` is
 * set, and everything that could be copied was.
 *
 * In addition, a commit that finds a long log runs a checkpoint (FULL, one
 * attempt, and again when the log is a quarter longer). sql_checkpoint_at sets
 * that length.
 */
enum sql_checkpoint {
	SQL_CHECKPOINT_FULL,
	SQL_CHECKPOINT_RESTART,
	SQL_CHECKPOINT_TRUNCATE
};

struct sql_checkpoint_result {
	bool busy;
	int log_frames; /* 0 with busy: a writer was always in the way */
	int checkpointed;
};

int sql_checkpoint(struct sql *db, enum sql_checkpoint mode, int wait_ms,
		   struct sql_checkpoint_result *out, struct err *e);

/* Copies a log that has lost its name (sql_lost) into the file, while our
 * descriptor still has its content. */
int sql_save_log(struct sql *db, struct err *e);

void sql_checkpoint_at(struct sql *db, int frames);
#define SQL_LOG_FRAMES 4000
int sql_log_frames(const struct sql *db); /* after our last commit */

/* For a process that exits now: whether closing would only free memory, because
 * a WAL of up to `bytes` is left (see sql_keep_wal). */
bool sql_can_stay_open(struct sql *db, int64_t bytes);

/* The version of the library at run time, and whether it has the defect that
 * makes checkpoints beside writers unsafe (the "WAL-reset bug"; see
 * lib/db/checkpoint.c). */
const char *sql_library(void);
bool sql_library_resets_unsafely(void);

#endif
