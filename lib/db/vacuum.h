#ifndef LIB_DB_VACUUM_H
#define LIB_DB_VACUUM_H

#include "lib/base/err.h"

#include <stdint.h>

struct sql;

/* VACUUM, at the head of the write queue. */
int sql_vacuum(struct sql *db, struct err *e);

/* Returns at most this many free pages to the filesystem: how many, or -1. */
int64_t sql_vacuum_some(struct sql *db, int64_t pages, struct err *e);

/* All of them, in one transaction: other writers wait about 10 µs for each
 * page. The cost of sql_vacuum_some per page grows with the number of free
 * pages. */
int sql_vacuum_all(struct sql *db, struct err *e);

#endif
