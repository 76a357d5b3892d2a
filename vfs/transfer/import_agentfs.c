#include "vfs/transfer/import.h"

#include "lib/db/sql.h"
#include "vfs/core/core.h"
#include "vfs/core/nanos.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* An AgentFS file (its specification, versions 0.3 and 0.4: the latter has
 * nanoseconds and device numbers). Values are converted in SQL, so that a
 * column of an unexpected type does no harm. */

#define CHUNK_MAX ((int64_t)1 << 30)

#define KEY(F, S) F(S, i64, ino)
#define AGENTFS_NODE(F, S)     \
	F(S, blob, name)       \
	F(S, i64, ino)         \
	F(S, i64, mode)        \
	F(S, i64, uid)         \
	F(S, i64, gid)         \
	F(S, i64, size)        \
	F(S, i64, accessed)    \
	F(S, i64, modified)    \
	F(S, blob, target)     \
	F(S, i64, rdev)        \
	F(S, i64, accessed_ns) \
	F(S, i64, modified_ns)
#define AGENTFS_CHUNK(F, S) F(S, i64, idx) F(S, blob, data)

SHAPE_DECLARE(import_key, KEY);
SHAPE_DECLARE(agentfs_node, AGENTFS_NODE);
SHAPE_DECLARE(agentfs_chunk, AGENTFS_CHUNK);
SHAPE_DEFINE(import_key, KEY);
SHAPE_DEFINE(agentfs_node, AGENTFS_NODE);
SHAPE_DEFINE(agentfs_chunk, AGENTFS_CHUNK);

enum { ROOT, LIST, DATA, ROOT_FINE, LIST_FINE, COUNT };

#define COLUMNS                                               \
	"CAST(i.ino AS INTEGER), CAST(i.mode AS INTEGER), "   \
	"CAST(i.uid AS INTEGER), CAST(i.gid AS INTEGER), "    \
	"CAST(i.size AS INTEGER), CAST(i.atime AS INTEGER), " \
	"CAST(i.mtime AS INTEGER), CAST(s.target AS BLOB), "
#define COARSE "0, 0, 0 "
#define FINE                                                       \
	"CAST(i.rdev AS INTEGER), CAST(i.atime_nsec AS INTEGER), " \
	"CAST(i.mtime_nsec AS INTEGER) "
#define FROM_ROOT                                          \
	"FROM fs_inode AS i LEFT JOIN fs_symlink AS s ON " \
	"s.ino = i.ino WHERE i.ino = 1"
#define FROM_NAMES                                           \
	"FROM fs_dentry AS d JOIN fs_inode AS i ON i.ino = " \
	"d.ino LEFT JOIN fs_symlink AS s ON s.ino = i.ino "  \
	"WHERE d.parent_ino = :ino ORDER BY d.name"

static const unsigned char one[] = {0};
static const struct sql_query queries[] = {
	[ROOT] = {.name = "fs_inode",
		  .text = "SELECT x'', " COLUMNS COARSE FROM_ROOT,
		  .out = &agentfs_node_shape},
	[ROOT_FINE] = {.name = "fs_inode",
		       .text = "SELECT x'', " COLUMNS FINE FROM_ROOT,
		       .out = &agentfs_node_shape},
	[LIST] = {.name = "fs_dentry",
		  .text = "SELECT CAST(d.name AS BLOB), " COLUMNS COARSE
			  FROM_NAMES,
		  .in = &import_key_shape,
		  .in_map = one,
		  .nparams = 1,
		  .out = &agentfs_node_shape},
	[LIST_FINE] = {.name = "fs_dentry",
		       .text = "SELECT CAST(d.name AS BLOB), " COLUMNS FINE
			       FROM_NAMES,
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
};
static const struct sql_set set = {queries, COUNT};

struct dir { /* a directory that is still to be read */
	int64_t ino;
	char *path;
};

struct agentfs {
	struct import im;
	struct sql *db;
	int64_t chunk;
	bool fine; /* times have nanoseconds */
	struct dir *dirs;
	size_t n, cap;
	struct node_refs seen; /* their node -> our number */
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
		int64_t off;

		if (c.idx < 0 || c.idx > size / a->chunk)
			continue;
		off = c.idx * a->chunk;
		if ((int64_t)c.data.n > size - off)
			c.data.n = (size_t)(size - off);
		if (c.data.n)
			rc = import_data(&a->im, ours, c.data.p, c.data.n, off,
					 e);
	}
	return sql_end(&it, rc ? &(struct err){0} : e) ? -1 : rc;
}

/* Chunks may be missing, also at the end: those are zeros. */
static int take_content(struct agentfs *a, const struct agentfs_node *n,
			int64_t ino, struct err *e)
{
	struct vfs_set size = {.what = VFS_SET_SIZE, .size = n->size};
	struct vfs_attr got;

	if (copy_chunks(a, n->ino, ino, n->size, e) ||
	    vfs_getattr(a->im.v, ino, &got, e))
		return -1;
	return got.size == n->size ? 0
				   : vfs_setattr(a->im.v, ino, &size, &got, e);
}

static int check_node(const struct agentfs_node *n, struct err *e)
{
	if (n->name.n <= VFS_NAME_MAX && n->ino > 0 && n->size >= 0 &&
	    n->size <= VFS_SIZE_MAX && n->target.n < 4096 &&
	    import_is_type((mode_t)n->mode))
		return 0;
	return err_set(e, ERR_INVALID, "node %lld is not valid",
		       (long long)n->ino);
}

static struct vfs_attr attr_of(const struct agentfs_node *n)
{
	return (struct vfs_attr){
		.mode = (mode_t)n->mode & (S_IFMT | 07777),
		.uid = (uint32_t)n->uid,
		.gid = (uint32_t)n->gid,
		.rdev = (uint64_t)n->rdev,
		.accessed = nanos_of(
			(struct timespec){n->accessed, n->accessed_ns}),
		.modified = nanos_of(
			(struct timespec){n->modified, n->modified_ns}),
	};
}

static int import_node(struct agentfs *a, const struct agentfs_node *n,
		       const char *path, struct err *e)
{
	char target[4096] = "";
	struct import_item item = {
		.path = path,
		.attr = attr_of(n),
		.target = target,
		.same_as = (int64_t)node_refs_count(&a->seen, n->ino),
	};
	bool dir = S_ISDIR(item.attr.mode);
	int64_t ino;

	if (n->target.n)
		memcpy(target, n->target.p, n->target.n);
	if (dir && item.same_as)
		return err_set(e, ERR_INVALID,
			       "directory %lld is in two places",
			       (long long)n->ino);
	if (import_item(&a->im, &item, &ino, e))
		return -1;
	if (item.same_as)
		return 0;
	node_refs_add(&a->seen, n->ino, (uint64_t)ino);
	if (dir)
		add_dir(a, n->ino, path);
	if (S_ISREG(item.attr.mode) && take_content(a, n, ino, e))
		return -1;
	return dir ? 0 : import_times(&a->im, ino, &item.attr, e);
}

static int take_child(struct agentfs *a, const struct dir *dir,
		      const struct agentfs_node *n, struct err *e)
{
	char name[VFS_NAME_MAX + 1] = "", path[16384];

	if (check_node(n, e))
		return -1;
	if (strlen(dir->path) + n->name.n + 2 > sizeof path)
		return err_set(e, ERR_LONGNAME,
			       "the path of node %lld is too "
			       "long",
			       (long long)n->ino);
	if (n->name.n)
		memcpy(name, n->name.p, n->name.n);
	if (name_check(name, e))
		return -1;
	snprintf(path, sizeof path, "%s%s%s", dir->path, *dir->path ? "/" : "",
		 name);
	return import_node(a, n, path, e);
}

static int take_dir(struct agentfs *a, const struct dir *dir, struct err *e)
{
	struct import_key key = {dir->ino};
	struct arena mem = {0};
	struct agentfs_node *rows;
	int n = sql_collect(a->db, a->fine ? LIST_FINE : LIST, &key, INT32_MAX,
			    &rows, &mem, e);
	int rc = n < 0 ? -1 : 0;

	for (int i = 0; rc == 0 && i < n; i++)
		rc = take_child(a, dir, &rows[i], e);
	arena_fini(&mem);
	return rc;
}

static int take_root(struct agentfs *a, struct err *e)
{
	struct arena mem = {0};
	struct agentfs_node n;
	int found = sql_get(a->db, a->fine ? ROOT_FINE : ROOT, NULL, &n, &mem,
			    e);
	int rc = found < 0 ? -1 : 0;

	if (found == 0 || (found > 0 && !S_ISDIR(n.mode)))
		rc = err_set(e, ERR_INVALID, "it has no root directory");
	if (rc == 0)
		rc = check_node(&n, e);
	if (rc == 0)
		rc = import_node(a, &n, "", e);
	arena_fini(&mem);
	return rc;
}

static int list_detach(struct agentfs *a, struct err *e)
{
	if (take_root(a, e))
		return -1;
	while (a->n) {
		struct dir dir = a->dirs[--a->n];
		int rc = take_dir(a, &dir, e);

		free(dir.path);
		if (rc)
			return -1;
	}
	return 0;
}

/* Checks what kind of file it is, before anything is changed. */
static int check_format(struct agentfs *a, struct err *e)
{
	int64_t tables, fine;

	if (sql_script_i64(a->db,
			   "SELECT count(*) FROM sqlite_schema WHERE name IN "
			   "('fs_config', 'fs_inode', 'fs_dentry', 'fs_data', "
			   "'fs_symlink')",
			   &tables, e) ||
	    sql_script_i64(a->db,
			   "SELECT count(*) FROM pragma_table_info('fs_inode') "
			   "WHERE name IN ('rdev', 'atime_nsec', 'mtime_nsec')",
			   &fine, e))
		return -1;
	if (tables < 5)
		return err_set(e, ERR_INVALID, "it is not an AgentFS file");
	a->fine = fine == 3;
	if (sql_script_i64(a->db,
			   "SELECT CAST(value AS INTEGER) FROM fs_config WHERE "
			   "key = 'chunk_size'",
			   &a->chunk, e))
		return -1;
	if (a->chunk < 1 || a->chunk > CHUNK_MAX)
		return err_set(e, ERR_INVALID, "it has no valid chunk_size");
	return 0;
}

int vfs_import_agentfs(struct vfs *v, const char *file, struct vfs_transfer *p,
		       struct err *e)
{
	struct agentfs a = {0};
	int rc;

	if (sql_open(&a.db, file, &set, SQL_READONLY, e))
		return -1;
	rc = check_format(&a, e);
	if (rc == 0)
		rc = import_begin(&a.im, v, p, e);
	if (rc == 0)
		rc = import_end(&a.im, list_detach(&a, e), e);
	while (a.n)
		free(a.dirs[--a.n].path);
	free(a.dirs);
	node_refs_fini(&a.seen);
	sql_close(a.db);
	return rc ? import_wrong(file, e) : 0;
}
