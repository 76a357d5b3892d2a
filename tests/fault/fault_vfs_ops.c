/*
 * Every kind of change fails, or the process dies, at each write in turn. Then
 * the tree is what it was or what it should become, nothing in between, fsck
 * finds no fault, and doing it again works.
 */
#include "tests/support/fault_vfs.h"
#include "tests/support/vfs_test.h"

#include "db/sql.h"
#include "vfs/check.h"
#include "vfs/core.h"
#include "vfs/merge.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char big[200000];
static struct vfs_test *current;

static int do_write(struct vfs *v, struct err *e)
{
	return vfs_write_file(v, "a/one", (struct blob){big, sizeof big}, NULL,
			      e);
}

static int do_mkdir(struct vfs *v, struct err *e)
{
	return vfs_mkdir(v, "x/y/z", 0755, true, e);
}

static int do_move(struct vfs *v, struct err *e)
{
	return vfs_move(v, "a/two", "b/three", 0, e);
}

static int do_remove(struct vfs *v, struct err *e)
{
	return vfs_remove(v, "a", true, e);
}

static int do_cut(struct vfs *v, struct err *e)
{
	struct vfs_set cut = {.what = VFS_SET_SIZE, .size = 70000};
	struct vfs_attr a;

	if (vfs_walk(v, "large", VFS_FOLLOW, &a, e))
		return -1;
	return vfs_setattr(v, a.ino, &cut, &a, e);
}

static int do_patch(struct vfs *v, struct err *e)
{
	struct vfs_attr a;

	if (vfs_walk(v, "large", VFS_FOLLOW, &a, e))
		return -1;
	return vfs_pwrite(v, a.ino, "patched", 7, 65530, e);
}

static int do_rollback(struct vfs *v, struct err *e)
{
	return vfs_rollback_to(v, "s", e);
}

static int do_drop(struct vfs *v, struct err *e)
{
	return vfs_snapshot_drop(v, "s", e);
}

static int do_merge(struct vfs *v, struct err *e)
{
	struct vfs_merge m = {.settle = VFS_SETTLE_FORK};
	struct vfs *fork;
	int rc;

	(void)v;
	if (vfs_open(&fork, current->db, "twin", "test", e))
		return -1;
	rc = vfs_merge(fork, &m, e);
	vfs_close(fork);
	return rc;
}

static int do_batch(struct vfs *v, struct err *e)
{
	if (vfs_begin(v, e))
		return -1;
	if (do_mkdir(v, e) || do_move(v, e) || do_write(v, e)) {
		vfs_rollback(v);
		return -1;
	}
	return vfs_commit(v, e);
}

/* As a mount commits: nodes are written when the batch ends. */
static int do_mount(struct vfs *v, struct err *e)
{
	int rc;

	v->coarse = true;
	rc = do_batch(v, e);
	v->coarse = false;
	return rc;
}

static const struct {
	const char *name;
	int (*run)(struct vfs *v, struct err *e);
} changes[] = {
	{"write", do_write},   {"mkdir", do_mkdir},       {"move", do_move},
	{"remove", do_remove}, {"cut", do_cut},           {"patch", do_patch},
	{"batch", do_batch},   {"rollback", do_rollback}, {"drop", do_drop},
	{"merge", do_merge},   {"mount", do_mount},
};

static void begin(struct vfs_test *t)
{
	struct vfs *fork;
	struct err e;

	current = t;
	vfs_test_begin(t);
	put(t->v, "a/one", "1");
	put(t->v, "a/two", "2");
	put(t->v, "b/three", "3");
	assert_int_equal(vfs_write_file(t->v, "large",
					(struct blob){big, sizeof big}, NULL,
					&e),
			 0);
	assert_int_equal(vfs_snapshot(t->v, "s", &e), 0);
	put(t->v, "a/one", "changed");
	assert_int_equal(vfs_remove(t->v, "b/three", false, &e), 0);
	put(t->v, "b/three", "again");
	assert_int_equal(vfs_fork(t->v, "twin", &e), 0);
	assert_int_equal(vfs_open(&fork, t->db, "twin", "test", &e), 0);
	put(fork, "from/fork", "f");
	vfs_close(fork);
	sql_script(t->db, "PRAGMA wal_checkpoint(TRUNCATE)", &e);
}

/* What the change leads to when nothing fails. */
static char *wanted(size_t i)
{
	struct vfs_test t;
	struct err e;
	char *after;

	begin(&t);
	if (changes[i].run(t.v, &e))
		fail_msg("%s: %s", changes[i].name, e.text);
	after = picture(t.v);
	vfs_test_end(&t);
	return after;
}

static void reopen(struct vfs_test *t)
{
	struct err e;

	vfs_close(t->v);
	sql_close(t->db);
	t->db = vfs_test_connect(t);
	if (vfs_open(&t->v, t->db, "main", "test", &e))
		fail_msg("%s", e.text);
}

static void check(struct vfs_test *t, const char *before, const char *after,
		  const char *name)
{
	struct vfs_check c = {.deep = true};
	struct err e;
	char *now = picture(t->v);

	if (strcmp(now, before) != 0 && strcmp(now, after) != 0)
		fail_msg("%s: neither old nor new:\n%s", name, now);
	free(now);
	assert_int_equal(vfs_check(t->db, &c, &e), 0);
	assert_int_equal(c.found, 0);
}

/* In a process of its own where it may die. */
static bool run_once(struct vfs_test *t, size_t i, int nth,
		     enum fault_kind kind)
{
	struct err e;
	bool fired;
	int status;
	pid_t pid;

	if (kind != FAULT_DIE) {
		fault_arm(nth, kind);
		(void)changes[i].run(t->v, &e);
		fired = fault_fired();
		fault_disarm();
		return fired;
	}
	vfs_close(t->v);
	sql_close(t->db);
	t->v = NULL;
	t->db = NULL;
	pid = fork();
	if (pid == 0) {
		t->db = vfs_test_connect(t);
		if (vfs_open(&t->v, t->db, "main", "test", &e))
			_exit(1);
		fault_arm(nth, kind);
		_exit(changes[i].run(t->v, &e) ? 2 : 0);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) && WEXITSTATUS(status) == FAULT_DIED;
}

static void fail_everywhere(enum fault_kind kind)
{
	for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
		char *after = wanted(i);
		bool fired = true;

		for (int nth = 1; fired && nth < 60; nth++) {
			struct vfs_test t;
			struct err e;
			char *before;

			begin(&t);
			before = picture(t.v);
			fired = run_once(&t, i, nth, kind);
			reopen(&t);
			check(&t, before, after, changes[i].name);
			(void)changes[i].run(t.v, &e); /* once more, or twice */
			check(&t, after, after, changes[i].name);
			free(before);
			vfs_test_end(&t);
		}
		free(after);
	}
}

static void a_write_that_fails_leaves_old_or_new(void **state)
{
	(void)state;
	fail_everywhere(FAULT_IOERR);
}

static void a_full_disk_leaves_old_or_new(void **state)
{
	(void)state;
	fail_everywhere(FAULT_FULL);
}

static void dying_at_any_write_leaves_old_or_new(void **state)
{
	(void)state;
	fail_everywhere(FAULT_DIE);
}

/* Room for so much more: bytes, or files. */
static void with_room(size_t i, int64_t bytes, int64_t files, const char *after)
{
	struct vfs_usage u;
	struct vfs_test t;
	struct err e;
	char *before;

	begin(&t);
	before = picture(t.v);
	assert_int_equal(vfs_set_quota(t.v, 1 << 30, 0, &e), 0);
	assert_int_equal(vfs_usage(t.v, &u, &e), 0);
	assert_int_equal(vfs_set_quota(t.v, bytes < 0 ? 0 : u.bytes + bytes,
				       files < 0 ? 0 : u.files + files, &e),
			 0);
	if (changes[i].run(t.v, &e))
		assert_int_equal(e.code, ERR_QUOTA);
	check(&t, before, after, changes[i].name);
	assert_int_equal(vfs_set_quota(t.v, 0, 0, &e), 0);
	(void)changes[i].run(t.v, &e);
	check(&t, after, after, changes[i].name);
	free(before);
	vfs_test_end(&t);
}

static void a_full_quota_leaves_old_or_new(void **state)
{
	static const int64_t rooms[] = {0, 1, 3, 1000, 65536, 70000, 150000};

	(void)state;
	for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
		char *after = wanted(i);

		for (size_t k = 0; k < sizeof rooms / sizeof rooms[0]; k++)
			with_room(i, rooms[k], -1, after);
		for (int64_t files = 0; files < 5; files++)
			with_room(i, -1, files, after);
		free(after);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_write_that_fails_leaves_old_or_new),
		cmocka_unit_test(a_full_disk_leaves_old_or_new),
		cmocka_unit_test(dying_at_any_write_leaves_old_or_new),
		cmocka_unit_test(a_full_quota_leaves_old_or_new),
	};

	for (size_t i = 0; i < sizeof big; i++)
		big[i] = (char)(i * 7 >> 3);
	fault_vfs_install();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
