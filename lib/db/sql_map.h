#ifndef LIB_DB_SQL_MAP_H
#define LIB_DB_SQL_MAP_H

#include "lib/base/err.h"

#include <stdbool.h>

/*
 * Reads through a mapping of the file, for a connection that only reads large
 * blobs. sql_map prepares it. sql_map_begin maps the file for a transaction
 * that has already read something; call it on the reading thread, and
 * sql_map_end after the transaction. In between, what was read counts as memory
 * of the process. If sql_map_failed returns true, some page could not be read
 * since sql_map_begin, and what was read since then may be wrong.
 */
struct sql;

int sql_map(struct sql *db, struct err *e);
void sql_map_begin(struct sql *db);
bool sql_map_failed(void);
void sql_map_end(struct sql *db);

#endif
