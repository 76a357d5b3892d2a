#ifndef OPS_IMPORT_SOURCE_H
#define OPS_IMPORT_SOURCE_H

#include "lib/base/arena.h"
#include "lib/base/buf.h"
#include "lib/base/hash.h"
#include "lib/db/sql.h"
#include "lib/json/json.h"

#include <stdint.h>

/*
 * Reads the state of other programs without changing it: it creates no files,
 * takes no locks, and keeps access times if the system allows it. A database is
 * read from a copy that includes its log. Rows are read as JSON objects with
 * all their columns, so that versions of a program may differ in columns.
 */

/* --- files ------------------------------------------------------------------ */

/* Properties that show whether a file has changed. For a database they include
 * its log, which may contain commits that are not in the file. */
struct source_stamp {
	int64_t bytes, mtime_ns;
	char sha256[HASH_HEX];
};

int source_stamp(const char *path, struct source_stamp *out, struct err *e);
bool source_is_database(const char *path);

/* The files of a database: "-wal", "-shm", "-journal"; ends with NULL. */
extern const char *const source_suffixes[];

/* Reads the whole file into b, whose ceiling is the limit. */
int source_read(const char *path, struct buf *b, struct err *e);

/* Copies a database into the directory, as SOURCE_COPY. The copy is
 * consistent: *mark describes the copied bytes. ERR_BUSY if the database
 * changes all the time. */
int source_copy(const char *path, const char *dir, struct source_stamp *mark,
		struct err *e);
#define SOURCE_COPY "source.sqlite"

/* The same, and opens the copy. */
int source_open(struct sql **out, const char *path, const char *dir,
		struct source_stamp *mark, struct err *e);

/* --- tables ------------------------------------------------------------------ */

bool source_has_table(struct sql *db, const char *table);

/* Rows with `column` = `value` (column NULL: all), in the given order; blobs as
 * hex. An array that the caller frees, or NULL. */
cJSON *source_rows(struct sql *db, const char *table, const char *column,
		   const char *value, const char *order, struct err *e);

/* The names of its tables, except for SQLite's internal ones. */
cJSON *source_tables(struct sql *db, struct err *e);

/* The names of a table's columns, or NULL. */
cJSON *source_columns(struct sql *db, const char *table, struct err *e);

/* The distinct values of a column, sorted: an array of texts, or NULL. */
cJSON *source_values(struct sql *db, const char *table, const char *column,
		     struct err *e);

/* Quotes a name or a text for SQL. */
void source_quote(struct buf *b, const char *text, char mark);

/* The number of rows; -1 if it is unknown. */
int64_t source_count(struct sql *db, const char *table);

/* --- values ------------------------------------------------------------------ */

/* The first existing member of "a|b|c". */
const cJSON *source_pick(const cJSON *obj, const char *names);
const char *source_text(const cJSON *obj, const char *names, const char *other);

/* A text, or a number as text: an id. "" if there is none. */
const char *source_id(const cJSON *obj, const char *names, struct arena *a);

/* Milliseconds, from a time in seconds (also with a fraction), milliseconds, or
 * ISO 8601; 0 if it is invalid. */
int64_t source_time(const cJSON *v);

/* Parses a text that contains JSON; otherwise a copy. The caller frees it. */
cJSON *source_value(const cJSON *v);

/* Appends bytes that source_rows returned as hex to b. */
void source_bytes(struct buf *b, const cJSON *hex);

#endif
