#include "bench/suites/tree.h"

#include "lib/db/sql.h"
#include "schema/agent_queries.h"
#include "vfs/core/path.h"
#include "vfs/core/vfs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The library, through its public functions. */
struct ours {
	struct sql *db;
	struct vfs *v;
	struct buf room;
	int64_t patched; /* the node of the last patched file is kept */
};

static int open_tree(void **out, const char *dir, struct err *e)
{
	struct ours *t = calloc(1, sizeof *t);
	char path[4096];

	if (!t)
		abort();
	*out = t;
	buf_init(&t->room, 1 << 24);
	snprintf(path, sizeof path, "%s/agent.sqlite", dir);
	if (db_open(&t->db, path, &agent_schema, SQL_CREATE, e) ||
	    vfs_create(t->db, "main", NULL, e))
		return -1;
	sql_defer_sync(t->db, true); /* as tree_sqlite, and as a mount */
	return vfs_open(&t->v, t->db, "main", "bench", e);
}

static void close_tree(void *tree)
{
	struct ours *t = tree;

	vfs_close(t->v);
	sql_close(t->db);
	buf_fini(&t->room);
	free(t);
}

static int ours_begin(void *tree, struct err *e)
{
	return vfs_begin(((struct ours *)tree)->v, e);
}

static int ours_end(void *tree, struct err *e)
{
	return vfs_commit(((struct ours *)tree)->v, e);
}

static int ours_mkdir(void *tree, const char *path, struct err *e)
{
	return vfs_mkdir(((struct ours *)tree)->v, path, 0755, false, e);
}

static int ours_put(void *tree, const char *path, const void *p, size_t n,
		    struct err *e)
{
	return vfs_write_file(((struct ours *)tree)->v, path,
			      (struct blob){p, n}, NULL, e);
}

static int ours_get(void *tree, const char *path, void *p, size_t n,
		    struct err *e)
{
	struct ours *t = tree;

	buf_clear(&t->room);
	if (vfs_read_file(t->v, path, &t->room, NULL, e))
		return -1;
	memcpy(p, t->room.p, t->room.n < n ? t->room.n : n);
	return 0;
}

static int stat_file(void *tree, const char *path, int64_t *size, struct err *e)
{
	struct vfs_attr a;

	if (vfs_walk(((struct ours *)tree)->v, path, VFS_FOLLOW, &a, e))
		return -1;
	*size = a.size;
	return 0;
}

static int ours_list(void *tree, const char *path, int *n, struct err *e)
{
	struct vfs *v = ((struct ours *)tree)->v;
	struct vfs_attr a;
	struct vfs_dir d;

	if (vfs_walk(v, path, VFS_FOLLOW, &a, e) ||
	    vfs_readdir(v, a.ino, &d, e))
		return -1;
	*n = (int)d.n;
	vfs_dir_fini(&d);
	return 0;
}

static int ours_patch(void *tree, const char *path, int64_t off, const void *p,
		      size_t n, struct err *e)
{
	struct ours *t = tree;
	struct vfs_attr a;

	if (!t->patched) {
		if (vfs_walk(t->v, path, VFS_FOLLOW, &a, e))
			return -1;
		t->patched = a.ino;
	}
	return vfs_pwrite(t->v, t->patched, p, n, off, e);
}

static int move_file(void *tree, const char *from, const char *to,
		     struct err *e)
{
	return vfs_move(((struct ours *)tree)->v, from, to, 0, e);
}

static int ours_remove(void *tree, const char *path, struct err *e)
{
	return vfs_remove(((struct ours *)tree)->v, path, false, e);
}

const struct tree_kind tree_ours = {
	"ours",     open_tree, close_tree, ours_begin, ours_end,
	ours_mkdir, ours_put,  ours_get,   stat_file,  ours_list,
	ours_patch, move_file, ours_remove};
