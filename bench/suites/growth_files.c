/* Growth with the number of files of a namespace. */
#include "bench/suites/growth.h"
#include "vfs/check/check.h"
#include "vfs/core/journal.h"
#include "vfs/core/path.h"
#include "vfs/core/vfs.h"
#include "vfs/core/visit.h"
#include "vfs/search/fts.h"
#include "vfs/search/grep.h"
#include "vfs/snapshot/merge.h"
#include "vfs/snapshot/snapshot.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define FEW        500  /* files of an operation on some files */
#define BATCH      1000 /* files in a transaction */
#define SOME_EVERY 10   /* every tenth file is changed */

/* --- files by number ----------------------------------------------------- */

struct file_name {
	char text[64];
};

static struct file_name file_name(const struct growth_world *w, int64_t i)
{
	struct file_name name;

	snprintf(name.text, sizeof name.text,
		 "top/d%" PRId64 "/f%" PRId64 ".txt", i / w->per_dir, i);
	return name;
}

typedef int file_fn(struct growth_world *w, struct vfs *v, int64_t i,
		    struct err *e);

struct choice {
	int64_t step;
	bool others; /* than those of some_files */
};

static const struct choice all_files = {.step = 1};
static const struct choice some_files = {.step = SOME_EVERY};

static int64_t nth_file(struct choice c, int64_t i)
{
	return c.others && i % SOME_EVERY == 0 ? i + SOME_EVERY / 2 : i;
}

/* Calls fn for the chosen files, in transactions of BATCH files. */
static int each_file(struct growth_world *w, struct vfs *v, struct choice c,
		     file_fn *fn, struct err *e)
{
	int64_t done = 0;
	int rc = vfs_begin(v, e);

	for (int64_t i = 0; i < w->n && rc == 0; i += c.step, done++) {
		if (done && done % BATCH == 0)
			rc = vfs_commit(v, e) ? -1 : vfs_begin(v, e);
		if (rc == 0)
			rc = fn(w, v, nth_file(c, i), e);
	}
	return rc ? -1 : vfs_commit(v, e);
}

/* Rows that were changed or replaced are adjacent. If FEW files are many of n,
 * that would make later operations on some_files cheap, so it changes
 * others. */
static int few(struct growth_world *w, file_fn *fn, struct err *e)
{
	struct choice c = {.step = w->n / FEW, .others = true};

	if (c.step == 0)
		c.step = 1;
	w->revision++;
	return each_file(w, w->v, c, fn, e);
}

static int write_text(struct growth_world *w, struct vfs *v, const char *path,
		      int64_t i, struct err *e)
{
	char text[128];
	int n = snprintf(text, sizeof text,
			 "common words, revision %d of file %" PRId64 "\n",
			 w->revision, i);

	return vfs_write_file(v, path, (struct blob){text, (size_t)n}, NULL, e);
}

static int create_one(struct growth_world *w, struct vfs *v, int64_t i,
		      struct err *e)
{
	struct file_name name = file_name(w, i);
	char dir[64];

	snprintf(dir, sizeof dir, "top/d%" PRId64, i / w->per_dir);
	if (i % w->per_dir == 0 && vfs_mkdir(v, dir, 0755, true, e))
		return -1;
	return write_text(w, v, name.text, i, e);
}

static int stat_one(struct growth_world *w, struct vfs *v, int64_t i,
		    struct err *e)
{
	struct vfs_attr attr;

	return vfs_walk(v, file_name(w, i).text, VFS_NOFOLLOW, &attr, e);
}

static int read_one(struct growth_world *w, struct vfs *v, int64_t i,
		    struct err *e)
{
	struct buf b = BUF_MAX(1 << 20);
	int rc = vfs_read_file(v, file_name(w, i).text, &b, NULL, e);

	buf_fini(&b);
	return rc;
}

static int put_one(struct growth_world *w, struct vfs *v, int64_t i,
		   struct err *e)
{
	return write_text(w, v, file_name(w, i).text, i, e);
}

static int rename_one(struct growth_world *w, struct vfs *v, int64_t i,
		      struct err *e)
{
	struct file_name name = file_name(w, i);
	char to[80];

	snprintf(to, sizeof to, "%s.x", name.text);
	return vfs_move(v, name.text, to, 0, e) ||
			       vfs_move(v, to, name.text, 0, e)
		       ? -1
		       : 0;
}

static int replace_one(struct growth_world *w, struct vfs *v, int64_t i,
		       struct err *e)
{
	return vfs_remove(v, file_name(w, i).text, false, e) ||
			       put_one(w, v, i, e)
		       ? -1
		       : 0;
}

static int remove_nth_file(struct growth_world *w, struct vfs *v, int64_t i,
			   struct err *e)
{
	return vfs_remove(v, file_name(w, i).text, false, e);
}

/* Changes, replaces, renames and adds: each by a quarter of the files. */
static int change_one(struct growth_world *w, struct vfs *v, int64_t i,
		      struct err *e)
{
	struct file_name name = file_name(w, i);
	char to[80];

	snprintf(to, sizeof to, "%s.new", name.text);
	switch (i / SOME_EVERY % 4) {
	case 0:
		return write_text(w, v, name.text, i, e);
	case 1:
		return replace_one(w, v, i, e);
	case 2:
		snprintf(to, sizeof to, "%s.%d", name.text, w->revision);
		return vfs_copy(v, name.text, to, false, e) ||
				       vfs_remove(v, name.text, false, e) ||
				       vfs_move(v, to, name.text, 0, e)
			       ? -1
			       : 0;
	default:
		return write_text(w, v, to, i, e);
	}
}

int growth_change_some(struct growth_world *w, struct vfs *v, struct err *e)
{
	w->revision++;
	return each_file(w, v, some_files, change_one, e);
}

static int create(struct growth_world *w, struct err *e)
{
	return each_file(w, w->v, all_files, create_one, e);
}

static int stat_all(struct growth_world *w, struct err *e)
{
	return each_file(w, w->v, all_files, stat_one, e);
}

static int read_files(struct growth_world *w, struct err *e)
{
	return each_file(w, w->v, all_files, read_one, e);
}

static int put_few(struct growth_world *w, struct err *e)
{
	return few(w, put_one, e);
}

static int rename_few(struct growth_world *w, struct err *e)
{
	return few(w, rename_one, e);
}

static int replace_few(struct growth_world *w, struct err *e)
{
	return few(w, replace_one, e);
}

static int remove_all(struct growth_world *w, struct err *e)
{
	return each_file(w, w->v, all_files, remove_nth_file, e);
}

/* --- trees ----------------------------------------------------------------- */

static int ignore_found(void *arg, const struct vfs_found *f, struct err *e)
{
	(void)arg, (void)f, (void)e;
	return 0;
}

int growth_visit(struct vfs *v, struct err *e)
{
	return vfs_visit(v, "", ignore_found, NULL, e);
}

static int du(struct growth_world *w, struct err *e)
{
	return growth_visit(w->v, e);
}

static int match_glob(void *arg, const struct vfs_found *f, struct err *e)
{
	(void)e;
	*(int64_t *)arg += vfs_glob("**/f*7.txt", f);
	return 0;
}

static int find_files(struct growth_world *w, struct err *e)
{
	int64_t found = 0;

	return vfs_visit(w->v, "", match_glob, &found, e);
}

static int list_directory(struct growth_world *w, struct err *e)
{
	int rc = 0;

	for (int64_t i = 0; i < w->n && rc == 0; i += w->per_dir) {
		struct vfs_dir d = {0};
		struct vfs_attr attr;
		char dir[64];

		snprintf(dir, sizeof dir, "top/d%" PRId64, i / w->per_dir);
		rc = vfs_walk(w->v, dir, VFS_FOLLOW, &attr, e) ||
				     vfs_readdir(w->v, attr.ino, &d, e)
			     ? -1
			     : 0;
		vfs_dir_fini(&d);
	}
	return rc;
}

static int ignore_match(void *arg, const struct vfs_match *m, struct err *e)
{
	(void)arg, (void)m, (void)e;
	return 0;
}

static int grep(struct growth_world *w, struct err *e)
{
	const struct vfs_grep g = {.pattern = "file 77"};

	return vfs_grep(w->v, "", &g, ignore_match, NULL, e);
}

static int rename_tree(struct growth_world *w, struct err *e)
{
	return vfs_move(w->v, "top", "renamed", 0, e) ||
			       vfs_move(w->v, "renamed", "top", 0, e)
		       ? -1
		       : 0;
}

static int copy_tree(struct growth_world *w, struct err *e)
{
	return vfs_copy(w->v, "top", "copy", true, e);
}

static int remove_tree(struct growth_world *w, struct err *e)
{
	return vfs_remove(w->v, "copy", true, e);
}

static int read_journal(struct growth_world *w, struct err *e)
{
	struct vfs_change *changes;
	struct arena mem = {0};
	int64_t last;
	int n = vfs_last_change(w->v, &last, e)
			? -1
			: vfs_changes(w->v, last - FEW, FEW, &changes, &mem, e);

	arena_fini(&mem);
	return n < 0 ? -1 : 0;
}

/* --- text ------------------------------------------------------------------- */

static int index_text(struct growth_world *w, struct err *e)
{
	return vfs_text_update(w->v, NULL, e) < 0 ? -1 : 0;
}

static int search_text(struct growth_world *w, struct err *e)
{
	struct vfs_text t = {.query = "common"};
	struct vfs_text_hit *hits;
	struct arena a = {0};
	int n = vfs_text_search(w->v, &t, &hits, &a, e);

	arena_fini(&a);
	return n < 0 ? -1 : 0;
}

/* --- snapshots and forks ---------------------------------------------------- */

static int snapshot(struct growth_world *w, struct err *e)
{
	return vfs_snapshot(w->v, "s", e);
}

static int change_files(struct growth_world *w, struct err *e)
{
	return growth_change_some(w, w->v, e);
}

static int ignore_delta(void *arg, const struct vfs_difference *d,
			struct err *e)
{
	(void)arg, (void)d, (void)e;
	return 0;
}

static int diff(struct growth_world *w, struct err *e)
{
	struct diff_source before = {0}, now = {.v = w->v};
	int rc = vfs_open(&before.v, w->file.db, "main@s", "bench", e);

	if (rc == 0)
		rc = vfs_diff(&before, &now, ignore_delta, NULL, e);
	vfs_close(before.v);
	return rc;
}

static int rollback(struct growth_world *w, struct err *e)
{
	return vfs_rollback_to(w->v, "s", e);
}

static int drop_snapshot(struct growth_world *w, struct err *e)
{
	return vfs_snapshot_drop(w->v, "s", e);
}

/* Two snapshots; the older one gets the rows of the newer one. */
static int snapshot_twice(struct growth_world *w, struct err *e)
{
	return vfs_snapshot(w->v, "older", e) || change_files(w, e) ||
			       vfs_snapshot(w->v, "s", e) || change_files(w, e)
		       ? -1
		       : 0;
}

static int prune_snapshot(struct growth_world *w, struct err *e)
{
	struct vfs_drop d = {0};
	int more = vfs_snapshot_hide(w->v, "s", e) ? -1 : 1;

	while (more > 0)
		more = vfs_snapshot_drop_some(w->v, &d, BATCH, e);
	return more;
}

static int drop_older(struct growth_world *w, struct err *e)
{
	return vfs_snapshot_drop(w->v, "older", e);
}

int growth_open_other(struct growth_world *w, const char *name, struct err *e)
{
	vfs_close(w->other);
	w->other = NULL;
	return vfs_open(&w->other, w->file.db, name, "bench", e);
}

static int fork_files(struct growth_world *w, struct err *e)
{
	return vfs_fork(w->v, "other", e);
}

static int change_fork(struct growth_world *w, struct err *e)
{
	return growth_open_other(w, "other", e)
		       ? -1
		       : growth_change_some(w, w->other, e);
}

static int merge(struct growth_world *w, struct err *e)
{
	struct vfs_merge m = {0};

	return vfs_merge(w->other, &m, e);
}

static int remove_new(struct growth_world *w, struct vfs *v, int64_t i,
		      struct err *e)
{
	char path[80];

	if (i / SOME_EVERY % 4 != 3)
		return 0;
	snprintf(path, sizeof path, "%s.new", file_name(w, i).text);
	return vfs_remove(v, path, false, e);
}

static int change_fork_again(struct growth_world *w, struct err *e)
{
	return each_file(w, w->other, some_files, remove_new, e) ||
			       growth_change_some(w, w->other, e)
		       ? -1
		       : 0;
}

static int discard(struct growth_world *w, struct err *e)
{
	return vfs_discard(w->other, e);
}

/* --- the whole file ---------------------------------------------------------- */

static int fsck(struct growth_world *w, struct err *e)
{
	struct vfs_check c = {0};

	if (vfs_check(w->file.db, &c, e))
		return -1;
	return c.found ? err_set(e, ERR_CORRUPT, "fsck found damage") : 0;
}

static int fsck_deep(struct growth_world *w, struct err *e)
{
	struct vfs_check c = {.deep = true};

	return vfs_check(w->file.db, &c, e);
}

static int compact(struct growth_world *w, struct err *e)
{
	struct vfs_compact c = {0};

	return vfs_compact(w->file.db, &c, e);
}

static int make_files(struct growth_world *w, struct err *e)
{
	char path[4096];

	snprintf(path, sizeof path, "%s/agent.sqlite", w->dir);
	return agent_file_open(&w->file, path, "a", SQL_CREATE, e) ||
			       vfs_create(w->file.db, "main", NULL, e) ||
			       vfs_open(&w->v, w->file.db, "main", "bench", e)
		       ? -1
		       : 0;
}

#define FLAT(name, call)                            \
	{                                           \
		name, NULL, call, true, GROWTH_FLAT \
	}
#define ONCE(name, call)                               \
	{                                              \
		name, NULL, call, false, GROWTH_LINEAR \
	}
#define REPEAT(name, call)                            \
	{                                             \
		name, NULL, call, true, GROWTH_LINEAR \
	}
#define AFTER(name, p, call)                        \
	{                                           \
		name, p, call, false, GROWTH_LINEAR \
	}

static const struct growth_operation operations[] = {
	ONCE("create", create),
	REPEAT("stat", stat_all),
	REPEAT("list", list_directory),
	REPEAT("read", read_files),
	REPEAT("du", du),
	REPEAT("find", find_files),
	REPEAT("grep", grep),
	FLAT("overwrite 500", put_few),
	FLAT("rename 500", rename_few),
	FLAT("delete and create 500", replace_few),
	FLAT("rename the tree", rename_tree),
	FLAT("log", read_journal),
	ONCE("text index", index_text),
	REPEAT("text search", search_text),
	AFTER("text index after 500 changes", put_few, index_text),
	ONCE("copy -r", copy_tree),
	ONCE("rm -r", remove_tree),
	ONCE("snapshot", snapshot),
	AFTER("diff, a tenth changed", change_files, diff),
	ONCE("rollback, a tenth changed", rollback),
	AFTER("drop a snapshot", change_files, drop_snapshot),
	AFTER("prune a snapshot", snapshot_twice, prune_snapshot),
	ONCE("drop the older snapshot", drop_older),
	ONCE("fork", fork_files),
	AFTER("merge, a tenth changed", change_fork, merge),
	AFTER("discard, a tenth changed", change_fork_again, discard),
	ONCE("destroy", growth_other_destroy),
	ONCE("export to a directory", growth_export_dir),
	AFTER("import from a directory", growth_other_new, growth_import_dir),
	ONCE("export to tar", growth_export_tar),
	AFTER("import from tar", growth_other_new, growth_import_tar),
	ONCE("export to sqlar", growth_export_sqlar),
	AFTER("import from sqlar", growth_other_new, growth_import_sqlar),
	ONCE("export to AgentFS", growth_export_agentfs),
	AFTER("import from AgentFS", growth_other_new, growth_import_agentfs),
	AFTER("snapshot of a host directory", growth_scratch_new,
	      growth_scratch_snapshot),
	AFTER("list a host directory", growth_scratch_new, growth_scratch_list),
	AFTER("diff with the host", growth_scratch_change, growth_scratch_diff),
	ONCE("apply to the host", growth_scratch_apply),
	AFTER("discard over the host", growth_scratch_change,
	      growth_scratch_discard),
	REPEAT("fsck", fsck),
	ONCE("fsck --deep", fsck_deep),
	ONCE("compact", compact),
	ONCE("delete", remove_all),
	{0},
};

const struct growth_part growth_tree = {
	.name = "tree",
	.about = "n files, 100 in each directory",
	.per_dir = 100,
	.make = make_files,
	.operations = operations,
};

const struct growth_part growth_directory = {
	.name = "directory",
	.about = "n files in one directory",
	.make = make_files,
	.operations = operations,
};
