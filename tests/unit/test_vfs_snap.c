#include "tests/support/vfs_test.h"

#include "db/sql.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct vfs_test t;

static int setup(void **state)
{
	(void)state;
	vfs_test_begin(&t);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	vfs_test_end(&t);
	return 0;
}

static void ok(int rc, const struct err *e)
{
	if (rc)
		fail_msg("%s", e->text);
}

static void snap(const char *name)
{
	struct err e;

	ok(vfs_snapshot(t.v, name, &e), &e);
}

/* Some of everything: contents of all sizes, links, names that come and go. */
static void change_a_lot(int seed)
{
	char big[200000], name[64];
	struct vfs_attr a;
	struct err e;

	memset(big, 'a' + seed % 20, sizeof big);
	for (int i = 0; i < 12; i++) {
		struct vfs_put how = {.parents = true};
		size_t n = (size_t)(i * 17001 + seed);

		snprintf(name, sizeof name, "d%d/f%d", (i + seed) % 4, i);
		ok(vfs_write_file(t.v, name, (struct blob){big, n}, &how, &e),
		   &e);
	}
	snprintf(name, sizeof name, "d%d/f%d", seed % 4, 4);
	vfs_move(t.v, name, "moved", 0, &e);
	snprintf(name, sizeof name, "d%d", (seed + 1) % 4);
	vfs_remove(t.v, name, true, &e);
	put(t.v, "big", "x");
	a = stat_of(t.v, "big");
	ok(vfs_pwrite(t.v, a.ino, "end", 3, 150000 + seed * 1000, &e), &e);
	ok(vfs_setxattr(t.v, a.ino, seed % 2 ? "user.odd" : "user.even",
			(struct blob){"v", 1}, 0, &e),
	   &e);
}

static void a_snapshot_shows_what_was(void **state)
{
	struct vfs *old;
	struct err e;
	char *before, *now;

	(void)state;
	change_a_lot(1);
	before = picture(t.v);
	snap("s1");
	change_a_lot(2);
	snap("s2");
	change_a_lot(3);
	ok(vfs_open(&old, t.db, "main@s1", "test", &e), &e);
	now = picture(old);
	assert_string_equal(now, before);
	assert_int_equal(vfs_mkdir(old, "x", 0755, false, &e), -1);
	assert_int_equal(e.code, ERR_READONLY);
	vfs_close(old);
	free(before);
	free(now);
}

static void going_back_restores_everything(void **state)
{
	struct err e;
	char *at[4], *now;

	(void)state;
	for (int i = 0; i < 4; i++) {
		static const char *const names[] = {"s0", "s1", "s2", "s3"};

		change_a_lot(i);
		at[i] = picture(t.v);
		snap(names[i]);
	}
	change_a_lot(9);
	ok(vfs_rollback_to(t.v, "s2", &e), &e);
	now = picture(t.v);
	assert_string_equal(now, at[2]);
	free(now);
	change_a_lot(10);
	ok(vfs_rollback_to(t.v, "s0", &e), &e);
	now = picture(t.v);
	assert_string_equal(now, at[0]);
	free(now);
	assert_int_equal(vfs_rollback_to(t.v, "s2", &e), -1);
	assert_int_equal(number(t.db, "SELECT count(*) FROM vfs_undo_inode"),
			 0);
	for (int i = 0; i < 4; i++)
		free(at[i]);
}

static void dropping_one_keeps_the_older_ones_right(void **state)
{
	struct vfs *old;
	struct err e;
	char *first, *now;

	(void)state;
	change_a_lot(1);
	first = picture(t.v);
	snap("s1");
	change_a_lot(2);
	snap("s2");
	change_a_lot(3);
	snap("s3");
	change_a_lot(4);
	ok(vfs_snapshot_drop(t.v, "s2", &e), &e);
	ok(vfs_snapshot_drop(t.v, "s3", &e), &e);
	change_a_lot(5);
	ok(vfs_open(&old, t.db, "main@s1", "test", &e), &e);
	now = picture(old);
	assert_string_equal(now, first);
	vfs_close(old);
	free(first);
	free(now);
}

static void the_space_of_a_dropped_snapshot_comes_back(void **state)
{
	struct err e;
	int64_t blobs;

	(void)state;
	change_a_lot(1);
	blobs = number(t.db, "SELECT count(*) FROM vfs_blob");
	snap("s1");
	change_a_lot(2);
	ok(vfs_rollback_to(t.v, "s1", &e), &e);
	ok(vfs_snapshot_drop(t.v, "s1", &e), &e);
	assert_int_equal(number(t.db, "SELECT count(*) FROM vfs_blob"), blobs);
	ok(vfs_remove(t.v, "d0", true, &e), &e);
	snap("s2");
	ok(vfs_remove(t.v, "d1", true, &e), &e);
	ok(vfs_remove(t.v, "d3", true, &e), &e);
	ok(vfs_remove(t.v, "moved", true, &e), &e);
	ok(vfs_remove(t.v, "big", true, &e), &e);
	assert_int_not_equal(number(t.db, "SELECT count(*) FROM vfs_blob"), 0);
	ok(vfs_snapshot_drop(t.v, "s2", &e), &e);
	assert_int_equal(number(t.db, "SELECT count(*) FROM vfs_blob"), 0);
}

static void a_fork_shares_contents_and_nothing_else(void **state)
{
	struct vfs *fork;
	struct err e;
	char *here, *there;
	int64_t blobs;

	(void)state;
	change_a_lot(1);
	here = picture(t.v);
	blobs = number(t.db, "SELECT count(*) FROM vfs_blob");
	ok(vfs_fork(t.v, "twin", &e), &e);
	assert_int_equal(number(t.db, "SELECT count(*) FROM vfs_blob"), blobs);
	ok(vfs_open(&fork, t.db, "twin", "test", &e), &e);
	there = picture(fork);
	assert_string_equal(here, there);
	free(there);
	change_a_lot(2);
	there = picture(fork);
	assert_string_equal(here, there);
	put(fork, "d2/f1", "mine");
	vfs_close(fork);
	ok(vfs_destroy(t.db, "twin", &e), &e);
	assert_int_equal(number(t.db, "SELECT count(*) FROM vfs_share"), 0);
	free(here);
	free(there);
}

static void a_snapshot_can_be_forked(void **state)
{
	struct vfs *old, *fork;
	struct err e;
	char *before, *now;

	(void)state;
	change_a_lot(1);
	before = picture(t.v);
	snap("s1");
	change_a_lot(2);
	snap("s2");
	change_a_lot(3);
	ok(vfs_open(&old, t.db, "main@s1", "test", &e), &e);
	ok(vfs_fork(old, "past", &e), &e);
	vfs_close(old);
	ok(vfs_snapshot_drop(t.v, "s1", &e), &e);
	change_a_lot(4);
	ok(vfs_open(&fork, t.db, "past", "test", &e), &e);
	now = picture(fork);
	assert_string_equal(now, before);
	vfs_close(fork);
	free(before);
	free(now);
}

static void a_removed_namespace_leaves_nothing(void **state)
{
	struct vfs *other;
	struct err e;

	(void)state;
	change_a_lot(1);
	ok(vfs_fork(t.v, "twin", &e), &e);
	ok(vfs_open(&other, t.db, "twin", "test", &e), &e);
	ok(vfs_snapshot(other, "s", &e), &e);
	put(other, "d2/f1", "mine");
	vfs_close(other);
	ok(vfs_destroy(t.db, "twin", &e), &e);
	assert_int_equal(
		number(t.db, "SELECT count(*) FROM vfs_inode WHERE id >> 40 <> "
			     "(SELECT id FROM vfs_ns)"),
		0);
	assert_int_equal(number(t.db, "SELECT count(*) FROM vfs_undo_inode"),
			 0);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_snapshot_shows_what_was),
		T(going_back_restores_everything),
		T(dropping_one_keeps_the_older_ones_right),
		T(the_space_of_a_dropped_snapshot_comes_back),
		T(a_fork_shares_contents_and_nothing_else),
		T(a_snapshot_can_be_forked),
		T(a_removed_namespace_leaves_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
