#ifndef OPS_SLICE_H
#define OPS_SLICE_H

#include "db/sql.h"

#include <stdint.h>

/*
 * Long work on a database in short transactions: no write lock is held for
 * longer than SLICE_MAX_MS, and others get their turn in between. The number of
 * rows in a slice follows from how long the last one took.
 */
#define SLICE_MAX_MS 50

struct slice {
	int64_t count;      /* rows of the next one */
	int64_t longest_ns; /* that a lock was held */
	int64_t done;       /* slices so far */
};

#define SLICE_BEGIN      \
	{                \
		64, 0, 0 \
	}

/* One slice: `work` changes at most s->count rows and returns how many, or -1.
 * The same, after its commit. */
int slice_run(struct slice *s, struct sql *db,
	      int (*work)(struct sql *db, int64_t count, void *arg,
			  struct err *e),
	      void *arg, struct err *e);

/* Slices until `work` changes nothing; all changes together, or -1. */
int64_t slice_all(struct slice *s, struct sql *db,
		  int (*work)(struct sql *db, int64_t count, void *arg,
			      struct err *e),
		  void *arg, struct err *e);

/* Gives free pages back to the filesystem (at most `pages`): how many. */
int64_t slice_vacuum(struct slice *s, struct sql *db, int64_t pages,
		     struct err *e);

#endif
