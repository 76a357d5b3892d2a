#include "vfs/import.h"

#include "db/sql.h"
#include "vfs/core.h"
#include "vfs/nanos.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

/* https://sqlite.org/sqlar.html. What is read is converted in SQL, so that a
 * column of another type than expected does no harm. */

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
		 "CAST(data AS BLOB) FROM sqlar ORDER BY name",
	 .out = &sqlar_row_shape},
};
static const struct sql_set set = {queries, 1};

static int unzip(const struct sqlar_row *row, char **out, struct err *e)
{
	uLongf n = (uLongf)row->size;

	if (row->size < 0 || row->size > CONTENT_MAX)
		return err_set(e, ERR_TOOBIG, "a file of %lld bytes is too big",
			       (long long)row->size);
	*out = malloc((size_t)row->size + 1);
	if (!*out)
		abort();
	if (uncompress((Bytef *)*out, &n, row->data.p, row->data.n) == Z_OK &&
	    n == (uLongf)row->size)
		return 0;
	free(*out);
	return err_set(e, ERR_INVALID, "a compressed file is damaged");
}

static int put_content(struct import *im, const struct sqlar_row *row,
		       int64_t ino, struct err *e)
{
	char *plain = NULL;
	int rc;

	if (row->size == 0 || !row->data.p)
		return 0;
	if (row->size == (int64_t)row->data.n)
		return import_data(im, ino, row->data.p, row->data.n, 0, e);
	if (unzip(row, &plain, e))
		return -1;
	rc = import_data(im, ino, plain, (size_t)row->size, 0, e);
	free(plain);
	return rc;
}

static int take_row(struct import *im, const struct sqlar_row *row,
		    struct err *e)
{
	char path[16384], target[4096] = "";
	struct timespec at = {row->modified, 0};
	struct import_item item = {
		.path = path,
		.attr = {.mode = (mode_t)row->mode & (S_IFMT | 07777),
			 .accessed = nanos_of(at),
			 .modified = nanos_of(at)},
		.target = target,
	};
	int64_t ino;

	if (row->name.n >= sizeof path ||
	    (row->size == -1 && row->data.n >= sizeof target))
		return err_set(e, ERR_INVALID, "a name is too long");
	if (row->name.n)
		memcpy(path, row->name.p, row->name.n);
	path[row->name.n] = '\0';
	if (row->size == -1 && row->data.n) {
		memcpy(target, row->data.p, row->data.n);
		item.attr.mode = S_IFLNK | 0777;
	}
	if (!(item.attr.mode & S_IFMT))
		item.attr.mode |= row->data.p ? S_IFREG : S_IFDIR;
	if (import_item(im, &item, &ino, e))
		return -1;
	if (S_ISREG(item.attr.mode) && put_content(im, row, ino, e))
		return -1;
	return S_ISDIR(item.attr.mode) ? 0
				       : import_times(im, ino, &item.attr, e);
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

int vfs_import_sqlar(struct vfs *v, const char *file, struct vfs_port *p,
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
