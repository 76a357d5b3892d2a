#include "bench/suites/tree.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/*
 * Plain SQLite in C with a good schema: nodes, names without rowid, blobs;
 * cached statements; only the checks that the operation needs, no snapshots, no
 * journal, no compression. The library is compared with it; it is fixed, so
 * that a ratio keeps its meaning.
 */
enum {
	BEGIN,
	COMMIT,
	LOOK,
	NODE,
	ADD_NODE,
	ADD_NAME,
	ADD_BLOB,
	TOUCH,
	READ,
	LIST,
	DROP_NAME,
	DROP_NODE,
	DROP_BLOB,
	SET_NAME,
	CHUNK,
	ADD_CHUNK,
	STATEMENTS
};

static const char *const texts[STATEMENTS] = {
	[BEGIN] = "BEGIN IMMEDIATE",
	[COMMIT] = "COMMIT",
	[LOOK] = "SELECT ino FROM dentry WHERE dir = ? AND name = ?",
	[NODE] = ("SELECT mode, nlink, uid, gid, size, atime, mtime, ctime, "
		  "blob "
		  "FROM inode WHERE id = ?"),
	[ADD_NODE] =
		("INSERT INTO inode VALUES (NULL, ?, 1, 0, 0, ?, ?3, ?3, ?3, "
		 "?4)"),
	[ADD_NAME] = "INSERT INTO dentry VALUES (?, ?, ?)",
	[ADD_BLOB] = "INSERT INTO blob VALUES (NULL, ?)",
	[TOUCH] = "UPDATE inode SET mtime = ?1, ctime = ?1 WHERE id = ?2",
	[READ] = "SELECT data FROM blob WHERE id = ?",
	[LIST] = "SELECT name, ino FROM dentry WHERE dir = ?",
	[DROP_NAME] = "DELETE FROM dentry WHERE dir = ? AND name = ?",
	[DROP_NODE] = "DELETE FROM inode WHERE id = ?",
	[DROP_BLOB] = "DELETE FROM blob WHERE id = ?",
	[SET_NAME] = "UPDATE inode SET ctime = ? WHERE id = ?",
	[CHUNK] = "SELECT blob FROM chunk WHERE ino = ? AND idx = ?",
	[ADD_CHUNK] = "INSERT INTO chunk VALUES (?, ?, ?)",
};

struct plain {
	sqlite3 *db;
	sqlite3_stmt *st[STATEMENTS];
	bool batch;
};

static int fail(struct plain *t, struct err *e)
{
	return err_set(e, ERR_IO, "plain SQLite: %s", sqlite3_errmsg(t->db));
}

static sqlite3_stmt *with(struct plain *t, int which, int64_t first)
{
	sqlite3_bind_int64(t->st[which], 1, first);
	return t->st[which];
}

static int plain_step(struct plain *t, int which, struct err *e)
{
	int rc = sqlite3_step(t->st[which]);

	sqlite3_reset(t->st[which]);
	return rc == SQLITE_DONE || rc == SQLITE_ROW ? 0 : fail(t, e);
}

static int64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static int open_tree(void **out, const char *dir, struct err *e)
{
	struct plain *t = calloc(1, sizeof *t);
	char path[4096];

	if (!t)
		abort();
	*out = t;
	snprintf(path, sizeof path, "%s/plain.sqlite", dir);
	if (sqlite3_open(path, &t->db) ||
	    sqlite3_exec(
		    t->db,
		    "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
		    "PRAGMA secure_delete=OFF; PRAGMA wal_autocheckpoint=4000;"
		    "CREATE TABLE inode (id INTEGER PRIMARY KEY, mode INTEGER, "
		    "nlink INTEGER, uid INTEGER, gid INTEGER, size INTEGER, "
		    "atime INTEGER, mtime INTEGER, ctime INTEGER, blob "
		    "INTEGER);"
		    "CREATE TABLE dentry (dir INTEGER, name BLOB, ino INTEGER, "
		    "PRIMARY KEY (dir, name)) WITHOUT ROWID;"
		    "CREATE TABLE chunk (ino INTEGER, idx INTEGER, blob "
		    "INTEGER, PRIMARY KEY (ino, idx)) WITHOUT ROWID;"
		    "CREATE TABLE blob (id INTEGER PRIMARY KEY, data BLOB);"
		    "INSERT INTO inode VALUES (1, 16877, 2, 0, 0, 0, 0, 0, 0, "
		    "NULL);",
		    NULL, NULL, NULL))
		return fail(t, e);
	for (int i = 0; i < STATEMENTS; i++)
		if (sqlite3_prepare_v3(t->db, texts[i], -1,
				       SQLITE_PREPARE_PERSISTENT, &t->st[i],
				       NULL))
			return fail(t, e);
	return 0;
}

static void close_tree(void *tree)
{
	struct plain *t = tree;

	for (int i = 0; i < STATEMENTS; i++)
		sqlite3_finalize(t->st[i]);
	sqlite3_close(t->db);
	free(t);
}

static int plain_begin(void *tree, struct err *e)
{
	struct plain *t = tree;

	t->batch = true;
	return plain_step(t, BEGIN, e);
}

static int plain_end(void *tree, struct err *e)
{
	struct plain *t = tree;

	t->batch = false;
	return plain_step(t, COMMIT, e);
}

static int tx_begin(struct plain *t, struct err *e)
{
	return t->batch ? 0 : plain_step(t, BEGIN, e);
}

static int tx_end(struct plain *t, struct err *e)
{
	return t->batch ? 0 : plain_step(t, COMMIT, e);
}

static int64_t plain_lookup(struct plain *t, int64_t dir, const char *name,
			    size_t n)
{
	sqlite3_stmt *st = with(t, LOOK, dir);
	int64_t ino = 0;

	sqlite3_bind_blob64(st, 2, name, n, SQLITE_STATIC);
	if (sqlite3_step(st) == SQLITE_ROW)
		ino = sqlite3_column_int64(st, 0);
	sqlite3_reset(st);
	return ino;
}

/* The directory of the path; *name is the last component. */
static int64_t parent(struct plain *t, const char *path, const char **name)
{
	const char *slash = strchr(path, '/');

	*name = slash ? slash + 1 : path;
	return slash ? plain_lookup(t, 1, path, (size_t)(slash - path)) : 1;
}

static int64_t plain_find(struct plain *t, const char *path)
{
	const char *name;
	int64_t dir = parent(t, path, &name);

	return plain_lookup(t, dir, name, strlen(name));
}

static int plain_add(struct plain *t, const char *path, int mode, const void *p,
		     size_t n, struct err *e)
{
	const char *name;
	int64_t dir = parent(t, path, &name), blob = 0, ino;

	if (plain_lookup(t, dir, name, strlen(name)))
		return err_set(e, ERR_CONFLICT, "%s exists", path);
	if (p) {
		sqlite3_bind_blob64(t->st[ADD_BLOB], 1, p, n, SQLITE_STATIC);
		if (plain_step(t, ADD_BLOB, e))
			return -1;
		blob = sqlite3_last_insert_rowid(t->db);
	}
	with(t, ADD_NODE, mode);
	sqlite3_bind_int64(t->st[ADD_NODE], 2, (int64_t)n);
	sqlite3_bind_int64(t->st[ADD_NODE], 3, now());
	sqlite3_bind_int64(t->st[ADD_NODE], 4, blob);
	if (plain_step(t, ADD_NODE, e))
		return -1;
	ino = sqlite3_last_insert_rowid(t->db);
	with(t, ADD_NAME, dir);
	sqlite3_bind_blob64(t->st[ADD_NAME], 2, name, strlen(name),
			    SQLITE_STATIC);
	sqlite3_bind_int64(t->st[ADD_NAME], 3, ino);
	with(t, TOUCH, now());
	sqlite3_bind_int64(t->st[TOUCH], 2, dir);
	return plain_step(t, ADD_NAME, e) || plain_step(t, TOUCH, e) ? -1 : 0;
}

static int plain_mkdir(void *tree, const char *path, struct err *e)
{
	return tx_begin(tree, e) || plain_add(tree, path, 16877, NULL, 0, e) ||
			       tx_end(tree, e)
		       ? -1
		       : 0;
}

static int plain_put(void *tree, const char *path, const void *p, size_t n,
		     struct err *e)
{
	return tx_begin(tree, e) || plain_add(tree, path, 33188, p, n, e) ||
			       tx_end(tree, e)
		       ? -1
		       : 0;
}

static int node(struct plain *t, int64_t ino, int64_t *size, int64_t *blob)
{
	sqlite3_stmt *st = with(t, NODE, ino);
	int found = sqlite3_step(st) == SQLITE_ROW;

	*size = sqlite3_column_int64(st, 4);
	*blob = sqlite3_column_int64(st, 8);
	sqlite3_reset(st);
	return found ? 0 : -1;
}

static int plain_get(void *tree, const char *path, void *p, size_t n,
		     struct err *e)
{
	struct plain *t = tree;
	int64_t size, blob;
	sqlite3_stmt *st;
	int rc = 0;

	sqlite3_exec(t->db, "BEGIN", NULL, NULL, NULL);
	if (node(t, plain_find(t, path), &size, &blob))
		rc = err_set(e, ERR_NOTFOUND, "%s does not exist", path);
	st = with(t, READ, blob);
	if (rc == 0 && sqlite3_step(st) == SQLITE_ROW)
		memcpy(p, sqlite3_column_blob(st, 0), n);
	sqlite3_reset(st);
	return plain_step(t, COMMIT, e) ? -1 : rc;
}

static int stat_file(void *tree, const char *path, int64_t *size, struct err *e)
{
	struct plain *t = tree;
	int64_t blob;
	int rc;

	sqlite3_exec(t->db, "BEGIN", NULL, NULL, NULL);
	rc = node(t, plain_find(t, path), size, &blob);
	if (plain_step(t, COMMIT, e))
		return -1;
	return rc ? err_set(e, ERR_NOTFOUND, "%s does not exist", path) : 0;
}

static int plain_list(void *tree, const char *path, int *n, struct err *e)
{
	struct plain *t = tree;
	sqlite3_stmt *st;

	(void)e;
	sqlite3_exec(t->db, "BEGIN", NULL, NULL, NULL);
	st = with(t, LIST, plain_find(t, path));
	for (*n = 0; sqlite3_step(st) == SQLITE_ROW; ++*n) {
		char *copy = strndup(sqlite3_column_blob(st, 0),
				     (size_t)sqlite3_column_bytes(st, 0));

		free(copy);
	}
	sqlite3_reset(st);
	return plain_step(t, COMMIT, e);
}

static int64_t chunk_at(struct plain *t, int64_t ino, int64_t idx)
{
	sqlite3_stmt *st = with(t, CHUNK, ino);
	int64_t blob = 0;

	sqlite3_bind_int64(st, 2, idx);
	if (sqlite3_step(st) == SQLITE_ROW)
		blob = sqlite3_column_int64(st, 0);
	sqlite3_reset(st);
	return blob;
}

static int write_part(struct plain *t, int64_t blob, const void *p, size_t n,
		      int off, struct err *e)
{
	sqlite3_blob *h = NULL;
	int rc = sqlite3_blob_open(t->db, "main", "blob", "data", blob, 1, &h);

	if (rc == SQLITE_OK)
		rc = sqlite3_blob_write(h, p, (int)n, off);
	sqlite3_blob_close(h);
	return rc == SQLITE_OK ? 0 : fail(t, e);
}

static int plain_patch(void *tree, const char *path, int64_t off, const void *p,
		       size_t n, struct err *e)
{
	struct plain *t = tree;
	int64_t ino, blob;

	if (tx_begin(t, e))
		return -1;
	ino = plain_find(t, path);
	blob = chunk_at(t, ino, off / 65536);
	if (!blob) {
		sqlite3_bind_blob64(t->st[ADD_BLOB], 1, p, n, SQLITE_STATIC);
		if (plain_step(t, ADD_BLOB, e))
			return -1;
		with(t, ADD_CHUNK, ino);
		sqlite3_bind_int64(t->st[ADD_CHUNK], 2, off / 65536);
		sqlite3_bind_int64(t->st[ADD_CHUNK], 3,
				   sqlite3_last_insert_rowid(t->db));
		if (plain_step(t, ADD_CHUNK, e))
			return -1;
	} else if (write_part(t, blob, p, n, (int)(off % 65536), e)) {
		return -1;
	}
	with(t, TOUCH, now());
	sqlite3_bind_int64(t->st[TOUCH], 2, ino);
	return plain_step(t, TOUCH, e) || tx_end(t, e) ? -1 : 0;
}

static int drop_name(struct plain *t, int64_t dir, const char *name,
		     struct err *e)
{
	with(t, DROP_NAME, dir);
	sqlite3_bind_blob64(t->st[DROP_NAME], 2, name, strlen(name),
			    SQLITE_STATIC);
	return plain_step(t, DROP_NAME, e);
}

static int move_in(struct plain *t, const char *from, const char *to,
		   struct err *e)
{
	const char *a, *b;
	int64_t da = parent(t, from, &a), db = parent(t, to, &b);
	int64_t ino = plain_lookup(t, da, a, strlen(a));

	if (!ino || plain_lookup(t, db, b, strlen(b)))
		return err_set(e, ERR_CONFLICT, "%s cannot move", from);
	with(t, ADD_NAME, db);
	sqlite3_bind_blob64(t->st[ADD_NAME], 2, b, strlen(b), SQLITE_STATIC);
	sqlite3_bind_int64(t->st[ADD_NAME], 3, ino);
	with(t, SET_NAME, now());
	sqlite3_bind_int64(t->st[SET_NAME], 2, ino);
	with(t, TOUCH, now());
	sqlite3_bind_int64(t->st[TOUCH], 2, da);
	return drop_name(t, da, a, e) || plain_step(t, ADD_NAME, e) ||
			       plain_step(t, SET_NAME, e) ||
			       plain_step(t, TOUCH, e)
		       ? -1
		       : 0;
}

static int move_file(void *tree, const char *from, const char *to,
		     struct err *e)
{
	return tx_begin(tree, e) || move_in(tree, from, to, e) ||
			       tx_end(tree, e)
		       ? -1
		       : 0;
}

static int remove_in(struct plain *t, const char *path, struct err *e)
{
	const char *name;
	int64_t dir = parent(t, path, &name), size, blob;
	int64_t ino = plain_lookup(t, dir, name, strlen(name));

	if (!ino || node(t, ino, &size, &blob))
		return err_set(e, ERR_NOTFOUND, "%s does not exist", path);
	with(t, DROP_NODE, ino);
	with(t, DROP_BLOB, blob);
	with(t, TOUCH, now());
	sqlite3_bind_int64(t->st[TOUCH], 2, dir);
	return drop_name(t, dir, name, e) || plain_step(t, DROP_NODE, e) ||
			       plain_step(t, DROP_BLOB, e) ||
			       plain_step(t, TOUCH, e)
		       ? -1
		       : 0;
}

static int plain_remove(void *tree, const char *path, struct err *e)
{
	return tx_begin(tree, e) || remove_in(tree, path, e) || tx_end(tree, e)
		       ? -1
		       : 0;
}

const struct tree_kind tree_sqlite = {
	"sqlite",    open_tree, close_tree,  plain_begin, plain_end,
	plain_mkdir, plain_put, plain_get,   stat_file,   plain_list,
	plain_patch, move_file, plain_remove};
