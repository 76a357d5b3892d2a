#ifndef LIB_DB_BLOB_H
#define LIB_DB_BLOB_H

#include "lib/db/sql.h"

/*
 * Access to the bytes of one column without a copy of the whole value. An open
 * handle belongs to the transaction in which it was opened and must be closed
 * before that ends.
 */
struct sql_blob;

struct sql_blob_column {
	const char *table, *column;
};

/* Opens the value of a row, or moves an open *h to another row of its column. */
int sql_blob_open(struct sql *db, const struct sql_blob_column *c, int64_t row,
		  bool write, struct sql_blob **h, struct err *e);
int sql_blob_read(struct sql_blob *h, void *p, size_t n, size_t off,
		  struct err *e);
int sql_blob_write(struct sql_blob *h, const void *p, size_t n, size_t off,
		   struct err *e);
void sql_blob_close(struct sql_blob *h); /* accepts NULL */

#endif
