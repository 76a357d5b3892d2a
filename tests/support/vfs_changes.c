#include "tests/support/vfs_changes.h"

#include "lib/base/arena.h"
#include "lib/base/buf.h"
#include "lib/db/sql.h"
#include "vfs/check/check.h"
#include "vfs/core/core.h"
#include "vfs/search/fts.h"
#include "vfs/snapshot/merge.h"
#include "vfs/transfer/transfer.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char big[200000];
static struct temp inputs;   /* host/, t.tar, t.sqlar, t.db */
static struct temp prepared; /* the file that all begin with */

/* -- on nodes */

static int find_node(struct vfs_test *t, const char *path, struct vfs_attr *a,
		     struct err *e)
{
	return vfs_walk(t->v, path, VFS_NOFOLLOW, a, e);
}

static int do_write(struct vfs_test *t, struct err *e)
{
	return vfs_write_file(t->v, "a/one", (struct blob){big, sizeof big},
			      NULL, e);
}

static int do_append(struct vfs_test *t, struct err *e)
{
	struct vfs_put how = {.append = true};

	return vfs_write_file(t->v, "large", (struct blob){big, 100000}, &how,
			      e);
}

static int do_patch(struct vfs_test *t, struct err *e)
{
	struct vfs_attr a;

	return find_node(t, "large", &a, e) ||
			       vfs_pwrite(t->v, a.ino, "patched", 7, 65530, e)
		       ? -1
		       : 0;
}

static int set_attr(struct vfs_test *t, const char *path, struct vfs_set how,
		    struct err *e)
{
	struct vfs_attr a;

	return find_node(t, path, &a, e) ||
			       vfs_setattr(t->v, a.ino, &how, &a, e)
		       ? -1
		       : 0;
}

static int do_cut(struct vfs_test *t, struct err *e)
{
	return set_attr(t, "large",
			(struct vfs_set){.what = VFS_SET_SIZE, .size = 70000},
			e);
}

static int do_stretch(struct vfs_test *t, struct err *e)
{
	return set_attr(t, "large",
			(struct vfs_set){.what = VFS_SET_SIZE, .size = 1 << 22},
			e);
}

static int do_attr(struct vfs_test *t, struct err *e)
{
	return set_attr(t, "a/two",
			(struct vfs_set){.what = VFS_SET_MODE | VFS_SET_UID |
						 VFS_SET_GID | VFS_SET_MODIFIED,
					 .mode = 04711,
					 .uid = 1,
					 .gid = 2,
					 .modified = 3},
			e);
}

static int do_set_xattr(struct vfs_test *t, struct err *e)
{
	struct vfs_attr a;

	return find_node(t, "large", &a, e) ||
			       vfs_setxattr(t->v, a.ino, "user.new",
					    (struct blob){big, 9000}, 0, e)
		       ? -1
		       : 0;
}

static int do_drop_xattr(struct vfs_test *t, struct err *e)
{
	struct vfs_attr a;

	return find_node(t, "a/two", &a, e) ||
			       vfs_rmxattr(t->v, a.ino, "user.kept", e)
		       ? -1
		       : 0;
}

static int do_fifo(struct vfs_test *t, struct err *e)
{
	struct vfs_new new = {.mode = S_IFIFO | 0600};
	struct vfs_attr a;

	return vfs_make(t->v, (struct vfs_at){VFS_ROOT, "fifo"}, &new, &a, e);
}

static int do_link(struct vfs_test *t, struct err *e)
{
	struct vfs_attr a;

	return find_node(t, "large", &a, e) ||
			       vfs_link(t->v, a.ino,
					(struct vfs_at){VFS_ROOT, "hard"}, &a,
					e)
		       ? -1
		       : 0;
}

static int do_unlink(struct vfs_test *t, struct err *e)
{
	return vfs_unlink(t->v, (struct vfs_at){VFS_ROOT, "large"}, e);
}

static int do_rmdir(struct vfs_test *t, struct err *e)
{
	return vfs_rmdir(t->v, (struct vfs_at){VFS_ROOT, "empty"}, e);
}

static int do_orphan(struct vfs_test *t, struct err *e)
{
	struct vfs_attr a;
	int rc;

	if (find_node(t, "large", &a, e))
		return -1;
	vfs_ref(t->v, a.ino);
	rc = do_unlink(t, e);
	if (rc == 0)
		rc = vfs_pwrite(t->v, a.ino, "still", 5, 0, e);
	vfs_unref(t->v, a.ino, 1);
	return rc;
}

/* -- on paths */

static int do_mkdir(struct vfs_test *t, struct err *e)
{
	return vfs_mkdir(t->v, "x/y/z", 0755, true, e);
}

static int do_symlink(struct vfs_test *t, struct err *e)
{
	return vfs_symlink(t->v, "a/one", "soft", e);
}

static int do_move(struct vfs_test *t, struct err *e)
{
	return vfs_move(t->v, "a/two", "b/three", 0, e);
}

static int do_exchange(struct vfs_test *t, struct err *e)
{
	return vfs_move(t->v, "a", "large", VFS_EXCHANGE, e);
}

static int do_remove(struct vfs_test *t, struct err *e)
{
	return vfs_remove(t->v, "a", true, e);
}

static int do_copy(struct vfs_test *t, struct err *e)
{
	return vfs_copy(t->v, "a", "copy", true, e);
}

static int do_batch(struct vfs_test *t, struct err *e)
{
	if (vfs_begin(t->v, e))
		return -1;
	if (do_mkdir(t, e) || do_move(t, e) || do_write(t, e)) {
		vfs_rollback(t->v);
		return -1;
	}
	return vfs_commit(t->v, e);
}

/* As a mount commits: nodes are written when the batch ends. */
static int do_mount(struct vfs_test *t, struct err *e)
{
	int rc;

	t->v->batch_atomic = true;
	rc = do_batch(t, e);
	t->v->batch_atomic = false;
	return rc;
}

/* -- on namespaces */

static int do_snapshot(struct vfs_test *t, struct err *e)
{
	return vfs_snapshot(t->v, "second", e);
}

static int do_rollback(struct vfs_test *t, struct err *e)
{
	return vfs_rollback_to(t->v, "s", e);
}

static int do_drop(struct vfs_test *t, struct err *e)
{
	return vfs_snapshot_drop(t->v, "s", e);
}

static int do_fork(struct vfs_test *t, struct err *e)
{
	return vfs_fork(t->v, "new", e);
}

static int do_create(struct vfs_test *t, struct err *e)
{
	return vfs_create(t->db, "new", NULL, e);
}

static int do_destroy(struct vfs_test *t, struct err *e)
{
	return vfs_destroy(t->db, "twin", e);
}

static int in_space(struct vfs_test *t, const char *name,
		    int (*inner)(struct vfs *, struct err *), struct err *e)
{
	struct vfs *v;
	int rc;

	if (vfs_open(&v, t->db, name, "test", e))
		return -1;
	rc = inner(v, e);
	vfs_close(v);
	return rc;
}

static int merge_in(struct vfs *v, struct err *e)
{
	struct vfs_merge m = {.strategy = VFS_STRATEGY_FORK};

	return vfs_merge(v, &m, e);
}

static int do_merge(struct vfs_test *t, struct err *e)
{
	return in_space(t, "twin", merge_in, e);
}

static int do_discard(struct vfs_test *t, struct err *e)
{
	return in_space(t, "twin", vfs_discard, e);
}

static int look_in(struct vfs *v, struct err *e)
{
	struct vfs_attr a;

	return vfs_walk(v, "sub/f1", VFS_NOFOLLOW, &a, e);
}

static int do_look(struct vfs_test *t, struct err *e)
{
	return in_space(t, "scratch", look_in, e);
}

static int copy_up_in(struct vfs *v, struct err *e)
{
	struct vfs_attr a;

	return vfs_walk(v, "large", VFS_NOFOLLOW, &a, e) ||
			       vfs_pwrite(v, a.ino, "up", 2, 65535, e)
		       ? -1
		       : 0;
}

static int do_copy_up(struct vfs_test *t, struct err *e)
{
	return in_space(t, "scratch", copy_up_in, e);
}

static int hide_in(struct vfs *v, struct err *e)
{
	return vfs_remove(v, "sub", true, e);
}

static int do_whiteout(struct vfs_test *t, struct err *e)
{
	return in_space(t, "scratch", hide_in, e);
}

/* -- on the whole */

static int do_import_dir(struct vfs_test *t, struct err *e)
{
	struct vfs_transfer p = {.path = "in", .keep_setuid = true};

	return vfs_import_dir(t->v, temp_join(&inputs, "host"), &p, e);
}

static int do_import_tar(struct vfs_test *t, struct err *e)
{
	struct vfs_transfer p = {.path = "in", .keep_setuid = true};
	int fd = open(temp_join(&inputs, "t.tar"), O_RDONLY | O_CLOEXEC);
	int rc = vfs_import_tar(t->v, fd, &p, e);

	close(fd);
	return rc;
}

static int do_import_sqlar(struct vfs_test *t, struct err *e)
{
	struct vfs_transfer p = {.path = "in", .keep_setuid = true};

	return vfs_import_sqlar(t->v, temp_join(&inputs, "t.sqlar"), &p, e);
}

static int do_import_agentfs(struct vfs_test *t, struct err *e)
{
	struct vfs_transfer p = {.path = "in", .keep_setuid = true};

	return vfs_import_agentfs(t->v, temp_join(&inputs, "t.db"), &p, e);
}

static int do_text(struct vfs_test *t, struct err *e)
{
	return vfs_text_update(t->v, NULL, e) < 0 ? -1 : 0;
}

static int do_compact(struct vfs_test *t, struct err *e)
{
	struct vfs_compact c = {0};

	return vfs_compact(t->db, &c, e);
}

const struct vfs_case vfs_cases[] = {
#define CHANGE(name, what) {#name, do_##name},
#include "tests/support/vfs_changes.def"
#undef CHANGE
};
const size_t vfs_cases_n = sizeof vfs_cases / sizeof vfs_cases[0];

/* -- what all begin with */

static void must(int rc, const struct err *e)
{
	if (rc < 0)
		fail_msg("%s", e->text);
}

static void make_inputs(struct vfs_test *t)
{
	struct vfs_transfer p = {.path = "", .keep_setuid = true};
	struct err e;
	int fd = open(temp_join(&inputs, "t.tar"),
		      O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	put(t->v, "sub/f1", "one");
	put(t->v, "sub/f2", "two");
	must(vfs_write_file(t->v, "large", (struct blob){big, sizeof big}, NULL,
			    &e),
	     &e);
	must(vfs_symlink(t->v, "sub", "soft", &e), &e);
	must(vfs_export_tar(t->v, fd, &p, &e), &e);
	close(fd);
	must(vfs_export_dir(t->v, temp_join(&inputs, "host"), &p, &e), &e);
	must(vfs_export_sqlar(t->v, temp_join(&inputs, "t.sqlar"), &p, &e), &e);
	must(vfs_export_agentfs(t->v, temp_join(&inputs, "t.db"), &p, &e), &e);
}

static int change_twin(struct vfs *v, struct err *e)
{
	(void)e;
	put(v, "from/fork", "f");
	return 0;
}

static void prepare_tree(struct vfs_test *t)
{
	struct vfs_attr a;
	struct err e;

	put(t->v, "a/one", "1");
	put(t->v, "a/two", "2");
	put(t->v, "b/three", "3");
	must(vfs_write_file(t->v, "large", (struct blob){big, sizeof big}, NULL,
			    &e),
	     &e);
	must(vfs_mkdir(t->v, "empty", 0755, false, &e), &e);
	a = stat_of(t->v, "a/two");
	must(vfs_setxattr(t->v, a.ino, "user.kept", (struct blob){"v", 1}, 0,
			  &e),
	     &e);
	must(vfs_snapshot(t->v, "s", &e), &e);
	put(t->v, "a/one", "changed");
	must(vfs_remove(t->v, "b/three", false, &e), &e);
	put(t->v, "b/three", "again");
	must(vfs_fork(t->v, "twin", &e), &e);
	must(in_space(t, "twin", change_twin, &e), &e);
	must(vfs_create(t->db, "scratch", temp_join(&inputs, "host"), &e), &e);
}

void vfs_cases_inputs(void)
{
	struct vfs_test t;

	for (size_t i = 0; i < sizeof big; i++)
		big[i] = (char)(i * 7 >> 3);
	temp_make(&inputs);
	vfs_test_begin(&t);
	make_inputs(&t);
	vfs_test_end(&t);
	vfs_test_begin(&t);
	prepare_tree(&t);
	vfs_close(t.v);
	sql_close(t.db);
	prepared = t.dir;
}

void vfs_cases_done(void)
{
	temp_remove(&prepared);
	temp_remove(&inputs);
}

void vfs_case_begin(struct vfs_test *t)
{
	struct err e;

	temp_copy(&t->dir, &prepared);
	t->db = vfs_test_connect(t);
	must(vfs_open(&t->v, t->db, "main", "test", &e), &e);
}

char *vfs_case_picture(struct vfs_test *t)
{
	static const char *const names[] = {"main", "twin", "scratch", "new"};
	struct buf b = BUF_MAX(1 << 26);

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		struct arena mem = {0};
		struct vfs_snapshot *s;
		struct vfs *v;
		struct err e;
		char *tree;
		int n;

		if (vfs_open(&v, t->db, names[i], "test", &e))
			continue;
		n = vfs_snapshots(v, &s, &mem, &e);
		must(n, &e);
		buf_addf(&b, "%s:\n", names[i]);
		for (int k = 0; k < n; k++)
			buf_addf(&b, "@%s\n", s[k].name);
		tree = picture(v);
		buf_adds(&b, tree);
		free(tree);
		vfs_close(v);
		arena_fini(&mem);
	}
	return buf_take(&b);
}
