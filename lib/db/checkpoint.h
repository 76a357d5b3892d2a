#ifndef LIB_DB_CHECKPOINT_H
#define LIB_DB_CHECKPOINT_H

#include "lib/db/sql.h"

/*
 * A checkpoint copies the log into the file. FULL copies, RESTART also lets the
 * next writer begin at the start of the log, TRUNCATE empties the log. It runs
 * first in the write queue and with SQLite's write lock; lib/db/checkpoint.c
 * says why. A reader or a writer that is in the way is waited for in pauses
 * outside of the queue, wait_ms in all (0: one try); then `busy`, and what
 * could be copied was.
 *
 * Without it, a commit that finds the log long is followed by a checkpoint
 * (FULL, one try, and again after a quarter more). sql_checkpoint_at says how
 * long.
 */
enum sql_checkpoint {
	SQL_CHECKPOINT_FULL,
	SQL_CHECKPOINT_RESTART,
	SQL_CHECKPOINT_TRUNCATE
};

struct sql_checkpoint_result {
	bool busy;
	int log_frames; /* 0 with busy: a writer was in the way all the time */
	int checkpointed;
};

int sql_checkpoint(struct sql *db, enum sql_checkpoint mode, int wait_ms,
		   struct sql_checkpoint_result *out, struct err *e);

/* Copies a log that has lost its name (sql_lost) into the file, while our
 * descriptor still has its content. */
int sql_save_log(struct sql *db, struct err *e);

void sql_checkpoint_at(struct sql *db, int frames);
#define SQL_LOG_FRAMES 4000

/* The library at run time, and whether it has the defect that makes checkpoints
 * beside writers unsafe (the "WAL-reset bug"; see lib/db/checkpoint.c). */
const char *sql_library(void);
bool sql_library_resets_unsafely(void);

#endif
