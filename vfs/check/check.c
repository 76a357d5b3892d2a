#include "vfs/check/check.h"

#include "vfs/core/core.h"
#include "vfs/core/path.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define BATCH 1024 /* contents that are read with one statement */

#define REPAIR_SQL(name)  Q_VFS_REPAIR_##name
#define REPAIR_CODE(name) 0 /* repaired by a function below */

enum group { ALONE, INODES, NAMES, TREE, CONTENTS, GROUPS };

static const unsigned group_find[GROUPS] = {
	[INODES] = Q_VFS_FIND_IN_INODES,
	[NAMES] = Q_VFS_FIND_IN_NAMES,
	[TREE] = Q_VFS_FIND_IN_TREE,
	[CONTENTS] = Q_VFS_FIND_IN_CONTENTS,
};

enum {
#define CHECK(name, group, how, words) CHECK_##name,
#include "vfs/check/check.def"
#undef CHECK
	CHECKS
};

static const struct {
	unsigned find, repair;
	enum group group;
	const char *words;
} checks[CHECKS] = {
#define CHECK(name, group, how, words) \
	[CHECK_##name] = {Q_VFS_FIND_##name, REPAIR_##how(name), group, words},
#include "vfs/check/check.def"
#undef CHECK
};

struct job {
	struct sql *db;
	struct vfs_check *c;
	enum { UNKNOWN, CLEAN, DIRTY } groups[GROUPS];
};

static void report_problem(struct vfs_check *c, const char *words, int64_t n)
{
	c->found += n;
	if (c->report)
		c->report(c->arg, words, n);
}

/* Gives a node without a name a name in lost+found. */
static int name_node(struct vfs *v, int64_t lost, int64_t ino, struct err *e)
{
	char name[32];
	struct vfs_at at = {lost, name};
	struct node n, dir;

	snprintf(name, sizeof name, "%lld", (long long)ino);
	if (node_get(v, ino, &n, e) || node_get(v, lost, &dir, e))
		return -1;
	node_place(&n, at);
	if (dentry_put(v, at, &n, e) || node_save(v, &n, e))
		return -1;
	return dir_changed(v, &dir, S_ISDIR(n.mode), e);
}

static int name_nodes(struct vfs *v, struct err *e)
{
	struct vfs_key key = {.id = v->ns};
	struct arena mem = {0};
	struct vfs_number *rows;
	struct vfs_attr dir;
	int n, rc = 0;

	do {
		arena_reset(&mem);
		n = sql_collect(v->db, Q_VFS_NAMELESS, &key, 500, &rows, &mem,
				e);
		if (n > 0 && (vfs_mkdir(v, "lost+found", 0700, true, e) ||
			      vfs_walk(v, "lost+found", VFS_NOFOLLOW, &dir, e)))
			rc = -1;
		for (int i = 0; rc == 0 && i < n; i++)
			rc = name_node(v, dir.ino, rows[i].n & INO_MASK, e);
	} while (rc == 0 && n == 500);
	arena_fini(&mem);
	return n < 0 ? -1 : rc;
}

/* Runs `fn` on every namespace, inside the open transaction. */
static int each_namespace(struct sql *db,
			  int (*fn)(struct vfs *v, struct err *e),
			  struct err *e)
{
	struct arena mem = {0};
	struct vfs_ns_row *rows;
	int n = sql_collect(db, Q_VFS_NS_LIST, NULL, INT32_MAX, &rows, &mem, e);
	int rc = n < 0 ? -1 : 0;

	for (int i = 0; rc == 0 && i < n; i++) {
		struct vfs *v;

		rc = vfs_attach(&v, db, rows[i].name, "fsck", e);
		if (rc)
			break;
		v->inside = true;
		rc = tx_refresh(v, e);
		if (rc == 0)
			rc = fn(v, e);
		v->inside = false;
		vfs_close(v);
	}
	arena_fini(&mem);
	return rc;
}

/* Removes the name of an unreachable directory, until every such directory is
 * nameless or reachable. */
static int cut_cycles(struct sql *db, struct err *e)
{
	struct vfs_number dir;
	int found;

	while ((found = sql_get(db, Q_VFS_CYCLE_DIR, NULL, &dir, NULL, e)) >
	       0) {
		struct vfs_key key = {.id = dir.n};

		if (sql_exec(db, Q_VFS_CYCLE_CUT, &key, e) < 0 ||
		    each_namespace(db, name_nodes, e))
			return -1;
	}
	return found;
}

static int repair(struct sql *db, unsigned i, struct err *e)
{
	if (i == CHECK_NAMELESS)
		return each_namespace(db, name_nodes, e);
	if (i == CHECK_CYCLE)
		return cut_cycles(db, e);
	if (sql_exec(db, checks[i].repair, NULL, e) < 0)
		return -1;
	return i == CHECK_ORPHAN ? each_namespace(db, orphans_reap, e) : 0;
}

/* Returns 1 if all checks of the group would find nothing, 0, -1. Once
 * something was found, and perhaps repaired, each check runs separately. */
static int is_clean(struct job *j, enum group g, struct err *e)
{
	struct vfs_number n = {0};

	if (g == ALONE || j->c->found)
		return 0;
	if (j->groups[g] == UNKNOWN) {
		if (sql_get(j->db, group_find[g], NULL, &n, NULL, e) < 0)
			return -1;
		j->groups[g] = n.n ? DIRTY : CLEAN;
	}
	return j->groups[g] == CLEAN;
}

static int check_one(struct job *j, unsigned i, struct err *e)
{
	struct vfs_number n = {0};
	int clean = is_clean(j, checks[i].group, e);

	if (clean)
		return clean < 0 ? -1 : 0;
	if (sql_get(j->db, checks[i].find, NULL, &n, NULL, e) < 0)
		return -1;
	if (n.n == 0)
		return 0;
	report_problem(j->c, checks[i].words, n.n);
	if (!j->c->repair)
		return 0;
	j->c->repaired += n.n;
	return repair(j->db, i, e);
}

struct damaged {
	int64_t ids[BATCH];
	int n;
	uint8_t room[VFS_CHUNK];
};

/* One batch of contents after `*last`: how many there were, or -1. Notes those
 * that cannot be decompressed. */
static int find_damaged(struct sql *db, int64_t *last, struct damaged *d,
			struct err *e)
{
	struct vfs_blob_after_in in = {*last, BATCH};
	struct sql_rows it = sql_rows(db, Q_VFS_BLOB_AFTER, &in);
	struct vfs_blob_row row;
	int n = 0;

	d->n = 0;
	for (; sql_next(&it, &row); n++) {
		struct err why;
		size_t size;

		*last = row.id;
		if (blob_unpack(&row, d->room, &size, &why))
			d->ids[d->n++] = row.id;
	}
	return sql_end(&it, e) ? -1 : n;
}

static int drop_damaged(struct job *j, const struct damaged *d, struct err *e)
{
	for (int i = 0; i < d->n; i++) {
		struct vfs_key key = {.id = d->ids[i]};

		if (sql_exec(j->db, Q_VFS_BLOB_DROP, &key, e) < 0)
			return -1;
	}
	j->c->repaired += d->n;
	return 0;
}

/* Deletes damaged contents: then nothing refers to them, and their files have a
 * hole. */
static int check_contents(struct job *j, struct err *e)
{
	struct damaged *d = malloc(sizeof *d);
	int64_t last = 0, sum = 0;
	int n, rc = 0;

	if (!d)
		abort();
	do {
		n = find_damaged(j->db, &last, d, e);
		if (n > 0 && j->c->repair)
			rc = drop_damaged(j, d, e);
		sum += d->n;
	} while (n == BATCH && rc == 0);
	free(d);
	if (sum)
		report_problem(j->c, "contents that are damaged", sum);
	return n < 0 ? -1 : rc;
}

static int check_in(struct job *j, struct err *e)
{
	if (j->c->deep && check_contents(j, e))
		return -1;
	for (unsigned i = 0; i < CHECKS; i++)
		if (check_one(j, i, e))
			return -1;
	return 0;
}

int vfs_check(struct sql *db, struct vfs_check *c, struct err *e)
{
	struct job j = {.db = db, .c = c};
	int rc;

	c->found = c->repaired = 0;
	tx_invalidate();
	if (c->repair ? sql_enter(db, e) : sql_enter_read(db, e))
		return -1;
	sql_bulk_begin(db);
	rc = sql_leave(db, check_in(&j, e), e);
	sql_bulk_end(db);
	return rc;
}
