#include "vfs/transfer/import.h"

#include "lib/db/sql.h"
#include "vfs/core/core.h"
#include "vfs/core/nanos.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

/* https://sqlite.org/sqlar.html. Values are converted in SQL, so that a column
 * of an unexpected type does no harm. The rows are read from the table alone:
 * SQLite does not notice an index that lacks some of them. */

#define CONTENT_MAX ((int64_t)1 << 30)

#define SQLAR_ROW(F, S)  \
	F(S, blob, name) \
	F(S, i64, mode) F(S, i64, modified) F(S, i64, size) F(S, blob, data)
SHAPE_DECLARE(sqlar_row, SQLAR_ROW);
SHAPE_DEFINE(sqlar_row, SQLAR_ROW);

static const struct sql_query queries[] = {
	{.name = "sqlar",
	 .text = "SELECT CAST(name AS BLOB), CAST(mode AS INTEGER), "
		 "CAST(mtime AS INTEGER), CAST(sz AS INTEGER), "
		 "CAST(data AS BLOB) FROM sqlar NOT INDEXED",
	 .out = &sqlar_row_shape},
};
static const struct sql_set set = {queries, 1};

/* As sqlar_uncompress: a value without a size, or of exactly that size, is not
 * compressed. *plain is allocated, to be freed. */
static int unpack(const struct sqlar_row *row, struct blob *out, char **plain,
		  struct err *e)
{
	uLongf n = (uLongf)row->size;

	*plain = NULL;
	*out = row->data;
	if (row->size <= 0 || row->size == (int64_t)row->data.n)
		return 0;
	if (row->size > CONTENT_MAX)
		return err_set(e, ERR_TOOBIG,
			       "a file of %lld bytes is too large",
			       (long long)row->size);
	*plain = malloc(n);
	if (!*plain)
		abort();
	*out = (struct blob){*plain, n};
	if (uncompress((Bytef *)*plain, &n, row->data.p, row->data.n) == Z_OK &&
	    n == (uLongf)row->size)
		return 0;
	free(*plain);
	return err_set(e, ERR_INVALID, "a compressed file is damaged");
}

/* A name of any bytes except zero, which no path can contain. */
static int take_name(struct blob from, char *out, size_t cap, struct err *e)
{
	if (from.n >= cap)
		return err_set(e, ERR_INVALID, "a name is too long");
	if (from.n && memchr(from.p, 0, from.n))
		return err_set(e, ERR_INVALID, "a name contains a NUL byte");
	if (from.n)
		memcpy(out, from.p, from.n);
	out[from.n] = '\0';
	return 0;
}

/* A row without a type in its mode is classified by its other columns. */
static mode_t mode_of(const struct sqlar_row *row)
{
	mode_t mode = (mode_t)row->mode & (S_IFMT | 07777);

	if (mode & S_IFMT)
		return mode;
	if (!row->data.p)
		return mode | S_IFDIR;
	return row->size == -1 ? S_IFLNK | 0777 : mode | S_IFREG;
}

static int put_item(struct import *im, const struct import_item *item,
		    struct blob content, struct err *e)
{
	int64_t ino;

	if (import_item(im, item, &ino, e))
		return -1;
	if (S_ISREG(item->attr.mode) && content.n &&
	    import_data(im, ino, content.p, content.n, 0, e))
		return -1;
	return S_ISDIR(item->attr.mode) ? 0
					: import_times(im, ino, &item->attr, e);
}

static int take_row(struct import *im, const struct sqlar_row *row,
		    struct err *e)
{
	char path[16384], target[4096] = "", *plain;
	struct timespec at = {row->modified, 0};
	struct import_item item = {
		.path = path,
		.attr = {.mode = mode_of(row),
			 .accessed = nanos_of(at),
			 .modified = nanos_of(at)},
		.target = target,
	};
	struct blob content;
	int rc;

	if (take_name(row->name, path, sizeof path, e) ||
	    unpack(row, &content, &plain, e))
		return -1;
	rc = S_ISLNK(item.attr.mode)
		     ? take_name(content, target, sizeof target, e)
		     : 0;
	if (rc == 0)
		rc = put_item(im, &item, content, e);
	free(plain);
	return rc;
}

static int take_rows(struct import *im, struct sql *db, struct err *e)
{
	struct sql_rows it = sql_rows(db, 0, NULL);
	struct sqlar_row row;
	int rc = 0;

	while (rc == 0 && sql_next(&it, &row))
		rc = take_row(im, &row, e);
	return sql_end(&it, rc ? &(struct err){0} : e) ? -1 : rc;
}

int vfs_import_sqlar(struct vfs *v, const char *file, struct vfs_transfer *p,
		     struct err *e)
{
	struct import im;
	struct sql *db;
	int rc;

	if (sql_open(&db, file, &set, SQL_READONLY, e))
		return -1;
	rc = import_begin(&im, v, p, e);
	if (rc == 0)
		rc = import_end(&im, take_rows(&im, db, e), e);
	sql_close(db);
	return rc ? import_wrong(file, e) : 0;
}
