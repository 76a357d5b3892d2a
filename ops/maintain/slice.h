#ifndef OPS_MAINTAIN_SLICE_H
#define OPS_MAINTAIN_SLICE_H

#include "lib/db/sql.h"

#include <stdint.h>

/*
 * Long work on a database in short transactions: no write lock is held longer
 * than SLICE_MAX_MS, and others get their turn in between. A slice consists of
 * steps; after each it checks the clock, and it ends when its time is up. The
 * number of rows of a step depends on the duration of the last ones.
 * (sql_longest returns how long the lock was held.)
 */
#define SLICE_MAX_MS  50
#define SLICE_AIM_MS  10 /* a slice ends after this … */
#define SLICE_STEP_MS 2  /* … and a step should take no longer than this */

struct slice {
	int64_t count;          /* rows of the next step */
	int64_t done;           /* slices so far */
	int64_t until;          /* no new slice after this; 0: no limit */
	int64_t (*clock)(void); /* in nanoseconds */
};

int64_t slice_clock(void);

#define SLICE_BEGIN                  \
	{                            \
		1, 0, 0, slice_clock \
	}

/* A step: changes at most `count` rows and returns how many, or -1. */
typedef int slice_step(struct sql *db, int64_t count, void *arg, struct err *e);

/* Runs one slice and commits it: number of rows; 0: nothing to do. ERR_TIMEOUT
 * if s->until has passed. Inside a transaction it becomes part of it. */
int slice_run(struct slice *s, struct sql *db, slice_step *step, void *arg,
	      struct err *e);

/* Runs slices until nothing is left; returns the number of rows, or -1. */
int64_t slice_all(struct slice *s, struct sql *db, slice_step *step, void *arg,
		  struct err *e);

/* Returns at most `pages` free pages to the filesystem: how many. */
int64_t slice_vacuum(struct slice *s, struct sql *db, int64_t pages,
		     struct err *e);

#endif
