#ifndef LIB_DB_BULK_H
#define LIB_DB_BULK_H

#include "lib/base/err.h"

#include <stdint.h>

/* Operations on a large part of a file. */
struct sql;

/*
 * Put these around a call that reads or changes most of a large table. SQLite
 * reads a page again each time it has left the cache, and writes a changed page
 * to the log each time; with the default cache that begins at 10,000 small
 * files. In between, the cache may grow to SQL_BULK_KIB, which is enough for
 * trees of 100,000 files, and is released at the end. Pairs nest.
 */
#define SQL_BULK_KIB 65536
void sql_bulk_begin(struct sql *db);
void sql_bulk_end(struct sql *db);

/* Returns at most this many free pages to the filesystem: how many, or -1. */
int64_t sql_give_back(struct sql *db, int64_t pages, struct err *e);

/* All of them, in one transaction: other writers wait about 10 µs for each
 * page. The cost of sql_give_back per page grows with the number of free
 * pages. */
int sql_give_back_all(struct sql *db, struct err *e);

#endif
