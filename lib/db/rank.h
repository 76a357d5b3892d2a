#ifndef LIB_DB_RANK_H
#define LIB_DB_RANK_H

#include "lib/base/err.h"

/*
 * skep_rank: the ranking function of our FTS5 tables, for `rank MATCH
 * 'skep_rank()'`. It is BM25 as FTS5's bm25() computes it, except that the
 * number of rows with a phrase is estimated from the first RANK_SAMPLE of them:
 * bm25() counts them all, so a query of several common words reads the complete
 * list of each. The estimate assumes rowids of the form group << 32 | number,
 * where the numbers of a group are dense.
 */
#define RANK_SAMPLE 4096

struct sql;

int sql_rank(struct sql *db, struct err *e); /* once per connection */

#endif
