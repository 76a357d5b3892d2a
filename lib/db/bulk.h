#ifndef LIB_DB_BULK_H
#define LIB_DB_BULK_H

#include "lib/base/err.h"

#include <stdint.h>

/* Operations on much of a file at once. */
struct sql;

/*
 * Around a call that looks at most of a large table, or changes it. SQLite reads
 * a page again each time that it has left the cache, and writes a changed one
 * to the log each time; with the usual cache that begins at 10,000 small files.
 * Meanwhile the cache has up to SQL_BULK_KIB, which is enough for the trees of
 * 100,000 files, and is given back at the end. Pairs nest.
 */
#define SQL_BULK_KIB 65536
void sql_bulk_begin(struct sql *db);
void sql_bulk_end(struct sql *db);

/* Gives at most so many free pages back to the filesystem: how many, or -1. */
int64_t sql_give_back(struct sql *db, int64_t pages, struct err *e);

/* All of them, in one transaction: other writers wait, about 10 µs for each page.
 * What sql_give_back costs for a page is in proportion to the free pages. */
int sql_give_back_all(struct sql *db, struct err *e);

#endif
