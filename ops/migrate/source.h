#ifndef OPS_MIGRATE_SOURCE_H
#define OPS_MIGRATE_SOURCE_H

#include "lib/base/arena.h"
#include "lib/base/buf.h"
#include "lib/base/hash.h"
#include "lib/db/sql.h"
#include "lib/json/json.h"

#include <stdint.h>

/*
 * State of other programs, read without touching it: no file is made beside it,
 * no lock taken, and the times of access stay where the system lets us. A
 * database is looked at in a copy, its log included. Tables are read as they are
 * found: rows as JSON objects, whatever columns they have, so that versions of a
 * program that differ in columns do not matter.
 */

/* --- files ------------------------------------------------------------------ */

/* Facts about a file that say whether it is the same as before. Of a database
 * its log counts too: what is committed may be only there. */
struct foreign_mark {
	int64_t bytes, mtime_ns;
	char sha256[HASH_HEX];
};

int foreign_mark(const char *path, struct foreign_mark *out, struct err *e);
bool foreign_is_database(const char *path);

/* What belongs to a database: "-wal", "-shm", "-journal"; ends with NULL. */
extern const char *const foreign_sides[];

/* The whole file into b, whose ceiling is the limit. */
int foreign_read(const char *path, struct buf *b, struct err *e);

/* Copies a database into the directory, as FOREIGN_COPY. The copy is of one
 * moment: *mark is that of the bytes that were copied. ERR_BUSY if it changes
 * all the time. */
int foreign_copy(const char *path, const char *dir, struct foreign_mark *mark,
		 struct err *e);
#define FOREIGN_COPY "foreign.sqlite"

/* The same, and opens the copy. */
int foreign_open(struct sql **out, const char *path, const char *dir,
		 struct foreign_mark *mark, struct err *e);

/* --- tables ------------------------------------------------------------------ */

bool foreign_has(struct sql *db, const char *table);

/* Rows where `column` is `value` (column NULL: all), in the order given; blobs
 * as hex. An array that the caller frees, or NULL. */
cJSON *foreign_rows(struct sql *db, const char *table, const char *column,
		    const char *value, const char *order, struct err *e);

/* Names of its tables, without those that SQLite and its indexes make. */
cJSON *foreign_tables(struct sql *db, struct err *e);

/* The names of a table's columns, or NULL. */
cJSON *foreign_columns(struct sql *db, const char *table, struct err *e);

/* The values that a column has, sorted: an array of texts, or NULL. */
cJSON *foreign_values(struct sql *db, const char *table, const char *column,
		      struct err *e);

/* A name or a text for SQL, in quotes of that kind. */
void foreign_quote(struct buf *b, const char *text, char mark);

/* How many rows; -1 if that cannot be told. */
int64_t foreign_count(struct sql *db, const char *table);

/* --- values ------------------------------------------------------------------ */

/* The first member that is there, of "a|b|c". */
const cJSON *foreign_pick(const cJSON *obj, const char *names);
const char *foreign_text(const cJSON *obj, const char *names,
			 const char *other);

/* A text, or a number as text: an id. "" if there is none. */
const char *foreign_id(const cJSON *obj, const char *names, struct arena *a);

/* Milliseconds of a time in seconds (also with a fraction), milliseconds, or
 * ISO 8601; 0 if it is none. */
int64_t foreign_time(const cJSON *v);

/* A text that holds JSON, parsed; else a copy. The caller frees it. */
cJSON *foreign_value(const cJSON *v);

/* Bytes that foreign_rows gave as hex, added to b. */
void foreign_bytes(struct buf *b, const cJSON *hex);

#endif
