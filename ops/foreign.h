#ifndef OPS_FOREIGN_H
#define OPS_FOREIGN_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/hash.h"
#include "base/json.h"
#include "db/sql.h"

#include <stdint.h>

/*
 * State of other programs, read without touching it. A database is looked at in
 * a copy, its log included, so that nothing is made or moved beside the original.
 * Tables are read as they are found: rows as JSON objects, whatever columns they
 * have, so that versions of a program that differ in columns do not matter.
 */

/* Copies `path` into the directory and opens the copy. */
int foreign_open(struct sql **out, const char *path, const char *dir,
		 struct err *e);
bool foreign_has(struct sql *db, const char *table);

/* Rows where `column` is `value` (column NULL: all), in the order given; blobs
 * as hex. An array that the caller frees, or NULL. */
cJSON *foreign_rows(struct sql *db, const char *table, const char *column,
		    const char *value, const char *order, struct err *e);

/* Names of its tables that are not in the list "a b c", as JSON. */
cJSON *foreign_tables(struct sql *db, struct err *e);

/* The first member that is there, of "a|b|c". */
const cJSON *foreign_pick(const cJSON *obj, const char *names);
const char *foreign_text(const cJSON *obj, const char *names,
			 const char *other);

/* Milliseconds of a time in seconds (also with a fraction), milliseconds, or
 * ISO 8601; 0 if it is none. */
int64_t foreign_time(const cJSON *v);

/* A text that holds JSON, parsed; else a copy. The caller frees it. */
cJSON *foreign_value(const cJSON *v);

/* Facts about a file that say whether it is the same as before. */
struct foreign_mark {
	int64_t bytes, mtime_ns;
	char sha256[HASH_HEX];
};

int foreign_mark(const char *path, struct foreign_mark *out, struct err *e);

#endif
