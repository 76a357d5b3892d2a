#ifndef OPS_MAINTAIN_BATCH_H
#define OPS_MAINTAIN_BATCH_H

#include "lib/db/sql.h"

#include <stdint.h>

/*
 * Long work on a database in short transactions: no write lock is held longer
 * than BATCH_MAX_MS, and others get their turn in between. A batch consists of
 * steps; after each it checks the clock, and it ends when its time is up. The
 * number of rows of a step depends on the duration of the last ones.
 * (sql_longest returns how long the lock was held.)
 */
#define BATCH_MAX_MS  50
#define BATCH_AIM_MS  10 /* a batch ends after this … */
#define BATCH_STEP_MS 2  /* … and a step should take no longer than this */

struct batch {
	int64_t count;          /* rows of the next step */
	int64_t done;           /* batches so far */
	int64_t until;          /* no new batch after this; 0: no limit */
	int64_t (*clock)(void); /* in nanoseconds */
};

int64_t batch_clock(void);

#define BATCH_BEGIN                  \
	{                            \
		1, 0, 0, batch_clock \
	}

/* A step: changes at most `count` rows and returns how many, or -1. */
typedef int batch_step(struct sql *db, int64_t count, void *arg, struct err *e);

/* Runs one batch and commits it: number of rows; 0: nothing to do. ERR_TIMEOUT
 * if s->until has passed. Inside a transaction it becomes part of it. */
int batch_run(struct batch *s, struct sql *db, batch_step *step, void *arg,
	      struct err *e);

/* Runs batches until nothing is left; returns the number of rows, or -1. */
int64_t batch_all(struct batch *s, struct sql *db, batch_step *step, void *arg,
		  struct err *e);

/* Returns at most `pages` free pages to the filesystem: how many. */
int64_t batch_vacuum(struct batch *s, struct sql *db, int64_t pages,
		     struct err *e);

#endif
