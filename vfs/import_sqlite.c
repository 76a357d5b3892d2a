#include "vfs/import.h"

#include "base/text.h"
#include "db/sql.h"
#include "vfs/core.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

/* SQLite files of other programs. What is read is converted in SQL, so that a
 * column of another type than expected does no harm. */

#define CONTENT_MAX ((int64_t)1 << 30)

#define KEY(F, S) F(S, i64, ino)
#define AGENTFS_NODE(F, S) \
	F(S, blob, name)   \
	F(S, i64, ino)     \
	F(S, i64, mode)    \
	F(S, i64, uid)     \
	F(S, i64, gid)     \
	F(S, i64, size)    \
	F(S, i64, accessed) F(S, i64, modified) F(S, blob, target)
#define AGENTFS_CHUNK(F, S) F(S, i64, idx) F(S, blob, data)
#define SQLAR_ROW(F, S)  \
	F(S, blob, name) \
	F(S, i64, mode) F(S, i64, modified) F(S, i64, size) F(S, blob, data)

SHAPE_DECLARE(import_key, KEY);
SHAPE_DECLARE(agentfs_node, AGENTFS_NODE);
SHAPE_DECLARE(agentfs_chunk, AGENTFS_CHUNK);
SHAPE_DECLARE(sqlar_row, SQLAR_ROW);
SHAPE_DEFINE(import_key, KEY);
SHAPE_DEFINE(agentfs_node, AGENTFS_NODE);
SHAPE_DEFINE(agentfs_chunk, AGENTFS_CHUNK);
SHAPE_DEFINE(sqlar_row, SQLAR_ROW);

enum { LIST, DATA, SQLAR };

#define NODE_COLUMNS                                          \
	"CAST(i.ino AS INTEGER), CAST(i.mode AS INTEGER), "   \
	"CAST(i.uid AS INTEGER), CAST(i.gid AS INTEGER), "    \
	"CAST(i.size AS INTEGER), CAST(i.atime AS INTEGER), " \
	"CAST(i.mtime AS INTEGER), CAST(s.target AS BLOB) "

static const unsigned char one[] = {0};
static const struct sql_query queries[] = {
	[LIST] = {.name = "fs_dentry",
		  .text = "SELECT CAST(d.name AS BLOB), " NODE_COLUMNS
			  "FROM fs_dentry AS d JOIN fs_inode AS i ON i.ino = "
			  "d.ino LEFT JOIN fs_symlink AS s ON s.ino = i.ino "
			  "WHERE d.parent_ino = :ino ORDER BY d.name",
		  .in = &import_key_shape,
		  .in_map = one,
		  .nparams = 1,
		  .out = &agentfs_node_shape},
	[DATA] = {.name = "fs_data",
		  .text = "SELECT CAST(chunk_index AS INTEGER), CAST(data AS "
			  "BLOB) FROM fs_data WHERE ino = :ino ORDER BY "
			  "chunk_index",
		  .in = &import_key_shape,
		  .in_map = one,
		  .nparams = 1,
		  .out = &agentfs_chunk_shape},
	[SQLAR] = {.name = "sqlar",
		   .text = "SELECT CAST(name AS BLOB), CAST(mode AS INTEGER), "
			   "CAST(mtime AS INTEGER), CAST(sz AS INTEGER), "
			   "CAST(data AS BLOB) FROM sqlar ORDER BY name",
		   .out = &sqlar_row_shape},
};
static const struct sql_set set = {queries, 3};

struct dir { /* a directory that is still to be read */
	int64_t ino;
	char *path;
};

struct agentfs {
	struct import im;
	struct sql *db;
	int64_t chunk;
	struct dir *dirs;
	size_t n, cap;
	struct hold_set seen; /* their node -> our number */
};

static void add_dir(struct agentfs *a, int64_t ino, const char *path)
{
	if (a->n == a->cap) {
		a->cap = a->cap ? a->cap * 2 : 64;
		a->dirs = realloc(a->dirs, a->cap * sizeof *a->dirs);
		if (!a->dirs)
			abort();
	}
	a->dirs[a->n].ino = ino;
	a->dirs[a->n].path = strdup(path);
	if (!a->dirs[a->n++].path)
		abort();
}

static int copy_chunks(struct agentfs *a, int64_t theirs, int64_t ours,
		       int64_t size, struct err *e)
{
	struct import_key key = {theirs};
	struct sql_rows it = sql_rows(a->db, DATA, &key);
	struct agentfs_chunk c;
	int rc = 0;

	while (rc == 0 && sql_next(&it, &c)) {
		int64_t off = c.idx * a->chunk;

		if (c.idx < 0 || off >= size)
			continue;
		if ((int64_t)c.data.n > size - off)
			c.data.n = (size_t)(size - off);
		rc = import_data(&a->im, ours, c.data.p, c.data.n, off, e);
	}
	return sql_end(&it, rc ? &(struct err){0} : e) ? -1 : rc;
}

static int take_node(struct agentfs *a, const struct dir *dir,
		     const struct agentfs_node *n, struct err *e)
{
	char name[VFS_NAME_MAX + 1], target[4096] = "", path[16384];
	struct import_item item = {
		.path = path,
		.attr = {.mode = (mode_t)n->mode & (S_IFMT | 07777),
			 .uid = (uint32_t)n->uid,
			 .gid = (uint32_t)n->gid,
			 .accessed = n->accessed * 1000000000,
			 .modified = n->modified * 1000000000},
		.target = target,
		.same_as = (int64_t)hold_count(&a->seen, n->ino),
	};
	int64_t ino;

	if (n->name.n > VFS_NAME_MAX || n->ino <= 0 || n->size < 0 ||
	    n->size > VFS_SIZE_MAX || n->target.n >= sizeof target ||
	    strlen(dir->path) + n->name.n + 2 > sizeof path)
		return err_set(e, ERR_INVALID, "node %lld is not valid",
			       (long long)n->ino);
	snprintf(name, sizeof name, "%.*s", (int)n->name.n,
		 (const char *)n->name.p);
	snprintf(path, sizeof path, "%s%s%s", dir->path, *dir->path ? "/" : "",
		 name);
	if (n->target.n)
		memcpy(target, n->target.p, n->target.n);
	if (name_check(name, e))
		return -1;
	if (S_ISDIR(item.attr.mode) && item.same_as)
		return err_set(e, ERR_INVALID,
			       "directory %lld is in two places",
			       (long long)n->ino);
	if (import_item(&a->im, &item, &ino, e))
		return -1;
	if (item.same_as)
		return 0;
	hold_add(&a->seen, n->ino, (uint64_t)ino);
	if (S_ISDIR(item.attr.mode))
		add_dir(a, n->ino, path);
	if (S_ISREG(item.attr.mode) && copy_chunks(a, n->ino, ino, n->size, e))
		return -1;
	return S_ISDIR(item.attr.mode)
		       ? 0
		       : import_times(&a->im, ino, &item.attr, e);
}

static int take_dir(struct agentfs *a, const struct dir *dir, struct err *e)
{
	struct import_key key = {dir->ino};
	struct arena mem = {0};
	struct agentfs_node *rows;
	int n = sql_collect(a->db, LIST, &key, INT32_MAX, &rows, &mem, e);
	int rc = n < 0 ? -1 : 0;

	for (int i = 0; rc == 0 && i < n; i++)
		rc = take_node(a, dir, &rows[i], e);
	arena_fini(&mem);
	return rc;
}

static int take_all(struct agentfs *a, struct err *e)
{
	add_dir(a, 1, "");
	hold_add(&a->seen, 1, 1);
	while (a->n) {
		struct dir dir = a->dirs[--a->n];
		int rc = take_dir(a, &dir, e);

		free(dir.path);
		if (rc)
			return -1;
	}
	return 0;
}

int vfs_import_agentfs(struct vfs *v, const char *file, struct vfs_port *p,
		       struct err *e)
{
	struct agentfs a = {0};
	int rc;

	if (sql_open(&a.db, file, &set, SQL_READONLY, e))
		return -1;
	rc = sql_script_i64(a.db,
			    "SELECT CAST(value AS INTEGER) FROM fs_config "
			    "WHERE key = 'chunk_size'",
			    &a.chunk, e);
	if (rc == 0 && (a.chunk < 1 || a.chunk > CONTENT_MAX))
		rc = err_set(e, ERR_INVALID, "%s has no valid chunk_size",
			     file);
	if (rc == 0)
		rc = import_begin(&a.im, v, p, e);
	if (rc == 0)
		rc = import_end(&a.im, take_all(&a, e), e);
	while (a.n)
		free(a.dirs[--a.n].path);
	free(a.dirs);
	hold_fini(&a.seen);
	sql_close(a.db);
	return rc;
}

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
	struct import_item item = {
		.path = path,
		.attr = {.mode = (mode_t)row->mode & (S_IFMT | 07777),
			 .accessed = row->modified * 1000000000,
			 .modified = row->modified * 1000000000},
		.target = target,
	};
	int64_t ino;

	if (row->name.n >= sizeof path ||
	    (row->size == -1 && row->data.n >= sizeof target))
		return err_set(e, ERR_INVALID, "a name is too long");
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
	struct sql_rows it = sql_rows(db, SQLAR, NULL);
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
	return rc;
}
