#ifndef LIB_DB_BULK_H
#define LIB_DB_BULK_H

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

#endif
