#ifndef LIB_DB_FTS_H
#define LIB_DB_FTS_H

#include "lib/base/err.h"

/*
 * Adds many rows to a full-text table. Each transaction leaves a segment in the
 * index, and FTS5 merges four of them into one, four of these into the next,
 * and so on: the cost of a row grows with the number of rows before it. During
 * a build, segments are only collected. At its end they are merged once, in
 * several transactions, so that other writers get their turn.
 *
 * If the process dies meanwhile, the table is correct but has many segments;
 * the next completed build merges these too. Borrows its members.
 */
struct sql;

struct fts_build {
	struct sql *db;
	const char *table; /* one of ours */
	int batches;       /* 0 at the start */
};

/* Call both outside of transactions: fts_build_batch before each transaction
 * that adds up to 1 MiB of text or one row, fts_build_end after the last. */
int fts_build_batch(struct fts_build *b, struct err *e);
int fts_build_end(struct fts_build *b, struct err *e);

#endif
