#ifndef LIB_DB_FTS_H
#define LIB_DB_FTS_H

#include "lib/base/err.h"

/*
 * Many rows for a full-text table. Each transaction leaves a segment in the
 * index, and FTS5 merges four of them into one, four of these into the next, and
 * so on: what a row costs grows with the number of rows before it. While a build
 * is under way the segments are only collected, and at its end they are merged
 * once, a part in each transaction so that other writers get their turn.
 *
 * A process that dies meanwhile leaves the table correct, with many segments;
 * the next build that ends merges these too. Borrows its members.
 */
struct sql;

struct fts_build {
	struct sql *db;
	const char *table; /* one of ours */
	int batches;       /* 0 at the start */
};

/* Both outside of transactions. Before one that adds up to 1 MiB of text, or one
 * row: */
int fts_build_batch(struct fts_build *b, struct err *e);
int fts_build_end(struct fts_build *b, struct err *e);

#endif
