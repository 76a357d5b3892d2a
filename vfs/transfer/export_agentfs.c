#include "vfs/transfer/transfer.h"

#include "lib/base/buf.h"
#include "lib/db/sql.h"
#include "lib/os/file.h"
#include "vfs/core/core.h"
#include "vfs/core/nanos.h"
#include "vfs/core/visit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * An AgentFS file, version 0.4 of its specification. Node numbers are ours:
 * both count from a root with number 1. Its programs concatenate chunks without
 * regard to their numbers, so holes are written as zeros.
 */
#define CHUNK 4096 /* what its own programs use */

#define NODE(F, S)             \
	F(S, i64, ino)         \
	F(S, i64, mode)        \
	F(S, i64, uid)         \
	F(S, i64, gid)         \
	F(S, i64, size)        \
	F(S, i64, accessed)    \
	F(S, i64, modified)    \
	F(S, i64, changed)     \
	F(S, i64, rdev)        \
	F(S, i64, accessed_ns) \
	F(S, i64, modified_ns) \
	F(S, i64, changed_ns)
#define NAME(F, S)   F(S, blob, name) F(S, i64, dir) F(S, i64, ino)
#define DATA(F, S)   F(S, i64, ino) F(S, i64, idx) F(S, blob, data)
#define TARGET(F, S) F(S, i64, ino) F(S, blob, target)
SHAPE_DECLARE(agentfs_add, NODE);
SHAPE_DECLARE(agentfs_name, NAME);
SHAPE_DECLARE(agentfs_data, DATA);
SHAPE_DECLARE(agentfs_target, TARGET);
SHAPE_DEFINE(agentfs_add, NODE);
SHAPE_DEFINE(agentfs_name, NAME);
SHAPE_DEFINE(agentfs_data, DATA);
SHAPE_DEFINE(agentfs_target, TARGET);

enum { ADD_NODE, ADD_NAME, ADD_LINK, ADD_DATA, ADD_TARGET, COUNT };

static const unsigned char in_order[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
static const struct sql_query queries[] = {
	[ADD_NODE] = {.name = "fs_inode",
		      .text = "INSERT INTO fs_inode (ino, mode, uid, gid, "
			      "size, atime, mtime, ctime, rdev, atime_nsec, "
			      "mtime_nsec, ctime_nsec, nlink) VALUES (?1, ?2, "
			      "?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, "
			      "?1 = 1)",
		      .in = &agentfs_add_shape,
		      .in_map = in_order,
		      .nparams = 12},
	[ADD_NAME] = {.name = "fs_dentry",
		      .text = "INSERT INTO fs_dentry (name, parent_ino, ino) "
			      "VALUES (CAST(?1 AS TEXT), ?2, ?3)",
		      .in = &agentfs_name_shape,
		      .in_map = in_order,
		      .nparams = 3},
	[ADD_LINK] = {.name = "fs_inode",
		      .text = "UPDATE fs_inode SET nlink = nlink + 1 WHERE "
			      "ino = ?1",
		      .in = &agentfs_target_shape,
		      .in_map = in_order,
		      .nparams = 1},
	[ADD_DATA] = {.name = "fs_data",
		      .text = "INSERT INTO fs_data (ino, chunk_index, data) "
			      "VALUES (?1, ?2, ?3)",
		      .in = &agentfs_data_shape,
		      .in_map = in_order,
		      .nparams = 3},
	[ADD_TARGET] = {.name = "fs_symlink",
			.text = "INSERT INTO fs_symlink (ino, target) VALUES "
				"(?1, CAST(?2 AS TEXT))",
			.in = &agentfs_target_shape,
			.in_map = in_order,
			.nparams = 2},
};
static const struct sql_set set = {queries, COUNT};

static const char tables[] =
	"CREATE TABLE fs_config (key TEXT PRIMARY KEY, value TEXT NOT NULL);"
	"INSERT INTO fs_config VALUES ('chunk_size', '4096'), "
	"('schema_version', '0.4');"
	"CREATE TABLE fs_inode (ino INTEGER PRIMARY KEY AUTOINCREMENT, mode "
	"INTEGER NOT NULL, nlink INTEGER NOT NULL DEFAULT 0, uid INTEGER NOT "
	"NULL DEFAULT 0, gid INTEGER NOT NULL DEFAULT 0, size INTEGER NOT NULL "
	"DEFAULT 0, atime INTEGER NOT NULL, mtime INTEGER NOT NULL, ctime "
	"INTEGER NOT NULL, rdev INTEGER NOT NULL DEFAULT 0, atime_nsec INTEGER "
	"NOT NULL DEFAULT 0, mtime_nsec INTEGER NOT NULL DEFAULT 0, ctime_nsec "
	"INTEGER NOT NULL DEFAULT 0);"
	"CREATE TABLE fs_dentry (id INTEGER PRIMARY KEY AUTOINCREMENT, name "
	"TEXT NOT NULL, parent_ino INTEGER NOT NULL, ino INTEGER NOT NULL, "
	"UNIQUE (parent_ino, name));"
	"CREATE INDEX idx_fs_dentry_parent ON fs_dentry (parent_ino, name);"
	"CREATE TABLE fs_data (ino INTEGER NOT NULL, chunk_index INTEGER NOT "
	"NULL, data BLOB NOT NULL, PRIMARY KEY (ino, chunk_index));"
	"CREATE TABLE fs_symlink (ino INTEGER PRIMARY KEY, target TEXT NOT "
	"NULL)";

struct writer {
	struct vfs *v;
	struct vfs_transfer *p;
	struct sql *db;
	int64_t *dirs; /* numbers of the parent directories, by depth */
	size_t cap;
	struct node_refs seen; /* nodes that have several names */
	char room[VFS_CHUNK];
};

static int add_node(struct writer *w, const struct vfs_attr *a, int64_t ino,
		    struct err *e)
{
	struct timespec accessed = nanos_spec(a->accessed);
	struct timespec modified = nanos_spec(a->modified);
	struct timespec changed = nanos_spec(a->changed);
	struct agentfs_add row = {
		.ino = ino,
		.mode = a->mode,
		.uid = a->uid,
		.gid = a->gid,
		.size = S_ISDIR(a->mode) ? 0 : a->size,
		.accessed = accessed.tv_sec,
		.modified = modified.tv_sec,
		.changed = changed.tv_sec,
		.rdev = (int64_t)a->rdev,
		.accessed_ns = accessed.tv_nsec,
		.modified_ns = modified.tv_nsec,
		.changed_ns = changed.tv_nsec,
	};

	return sql_exec(w->db, ADD_NODE, &row, e) < 0 ? -1 : 0;
}

static int add_file_content(struct writer *w, const struct vfs_attr *a,
			    struct err *e)
{
	struct agentfs_data row = {.ino = a->ino};

	for (int64_t off = 0; off < a->size; off += VFS_CHUNK) {
		ssize_t got = vfs_pread(w->v, a->ino, w->room, sizeof w->room,
					off, e);

		if (got < 0)
			return -1;
		for (ssize_t at = 0; at < got; at += CHUNK) {
			row.idx = (off + at) / CHUNK;
			row.data.p = w->room + at;
			row.data.n = (size_t)(got - at < CHUNK ? got - at
							       : CHUNK);
			if (sql_exec(w->db, ADD_DATA, &row, e) < 0)
				return -1;
		}
		w->p->bytes += got;
		vfs_transfer_report(w->p);
	}
	return 0;
}

static int add_target(struct writer *w, int64_t ino, struct err *e)
{
	struct buf target = BUF_MAX(8192);
	int rc = vfs_readlink(w->v, ino, &target, e);
	struct agentfs_target row = {ino, {target.p, target.n}};

	if (rc == 0 && sql_exec(w->db, ADD_TARGET, &row, e) < 0)
		rc = -1;
	buf_fini(&target);
	return rc;
}

static int add_name(struct writer *w, const struct vfs_found *f, struct err *e)
{
	struct agentfs_name row = {blob_text(f->name), w->dirs[f->depth - 1],
				   f->attr.ino};
	struct agentfs_target node = {.ino = f->attr.ino};

	return sql_exec(w->db, ADD_NAME, &row, e) < 0 ||
			       sql_exec(w->db, ADD_LINK, &node, e) < 0
		       ? -1
		       : 0;
}

static void remember_parent(struct writer *w, int depth, int64_t ino)
{
	if ((size_t)depth >= w->cap) {
		w->cap = w->cap ? w->cap * 2 : 64;
		w->dirs = realloc(w->dirs, w->cap * sizeof *w->dirs);
		if (!w->dirs)
			abort();
	}
	w->dirs[depth] = ino;
}

static int put_agentfs_entry(void *arg, const struct vfs_found *f,
			     struct err *e)
{
	struct writer *w = arg;
	const struct vfs_attr *a = &f->attr;
	int64_t ino = f->depth ? a->ino : VFS_ROOT;
	bool again = a->nlink > 1 && !S_ISDIR(a->mode) &&
		     node_refs_count(&w->seen, ino);
	int rc = 0;

	if (f->depth == 0 && !S_ISDIR(a->mode))
		return err_set(e, ERR_NOTDIR, "%s is not a directory",
			       w->p->path);
	if (S_ISDIR(a->mode))
		remember_parent(w, f->depth, ino);
	else if (a->nlink > 1)
		node_refs_add(&w->seen, ino, 1);
	if (!again)
		rc = add_node(w, a, ino, e);
	if (rc == 0 && f->depth)
		rc = add_name(w, f, e);
	if (rc == 0 && !again && S_ISREG(a->mode))
		rc = add_file_content(w, a, e);
	if (rc == 0 && !again && S_ISLNK(a->mode))
		rc = add_target(w, ino, e);
	w->p->nodes++;
	vfs_transfer_report(w->p);
	return rc;
}

static int write_agentfs(struct writer *w, struct err *e)
{
	if (sql_script(w->db, tables, e) || sql_enter(w->db, e))
		return -1;
	if (sql_leave(w->db,
		      vfs_visit(w->v, w->p->path ? w->p->path : "",
				put_agentfs_entry, w, e),
		      e))
		return -1;
	return sql_script(w->db, "PRAGMA journal_mode=DELETE", e);
}

int vfs_export_agentfs(struct vfs *v, const char *file, struct vfs_transfer *p,
		       struct err *e)
{
	struct writer *w = calloc(1, sizeof *w);
	int rc;

	if (!w)
		abort();
	w->v = v;
	w->p = p;
	p->nodes = p->bytes = 0;
	if (file_exists(file)) {
		free(w);
		return err_set(e, ERR_CONFLICT, "%s already exists", file);
	}
	rc = sql_open(&w->db, file, &set, SQL_CREATE, e);
	if (rc == 0) {
		rc = write_agentfs(w, e);
		sql_close(w->db);
		if (rc)
			unlink(file);
	}
	node_refs_fini(&w->seen);
	free(w->dirs);
	free(w);
	return rc;
}
