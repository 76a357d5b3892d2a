#include "tests/support/vfs_test.h"

#include "lib/db/sql.h"
#include "schema/agent_queries.h"
#include "vfs/check/check.h"
#include "vfs/core/visit.h"
#include "vfs/snapshot/merge.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct vfs_test t;

static int set_up_vfs_snap(void **state)
{
	(void)state;
	vfs_test_begin(&t);
	return 0;
}

static int tear_down_vfs_snap(void **state)
{
	(void)state;
	vfs_test_end(&t);
	return 0;
}

static void snap(const char *name)
{
	struct err e;

	assert_ok(vfs_snapshot(t.v, name, &e), &e);
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
		assert_ok(vfs_write_file(t.v, name, (struct blob){big, n}, &how,
					 &e),
			  &e);
	}
	snprintf(name, sizeof name, "d%d/f%d", seed % 4, 4);
	vfs_move(t.v, name, "moved", 0, &e);
	snprintf(name, sizeof name, "d%d", (seed + 1) % 4);
	vfs_remove(t.v, name, true, &e);
	put(t.v, "big", "x");
	a = stat_of(t.v, "big");
	assert_ok(vfs_pwrite(t.v, a.ino, "end", 3, 150000 + seed * 1000, &e),
		  &e);
	assert_ok(vfs_setxattr(t.v, a.ino, seed % 2 ? "user.odd" : "user.even",
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
	assert_ok(vfs_open(&old, t.db, "main@s1", "test", &e), &e);
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
	assert_ok(vfs_rollback_to(t.v, "s2", &e), &e);
	now = picture(t.v);
	assert_string_equal(now, at[2]);
	free(now);
	change_a_lot(10);
	assert_ok(vfs_rollback_to(t.v, "s0", &e), &e);
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
	assert_ok(vfs_snapshot_drop(t.v, "s2", &e), &e);
	assert_ok(vfs_snapshot_drop(t.v, "s3", &e), &e);
	change_a_lot(5);
	assert_ok(vfs_open(&old, t.db, "main@s1", "test", &e), &e);
	now = picture(old);
	assert_string_equal(now, first);
	vfs_close(old);
	free(first);
	free(now);
}

/* Drops a snapshot in batches of `count` rows, with changes between them if
 * `busy`. */
static void drop_in_batches(const char *name, int64_t count, bool busy)
{
	struct vfs_drop at = {0};
	struct err e;
	int more = 1;

	assert_ok(vfs_snapshot_hide(t.v, name, &e), &e);
	for (int i = 0; more; i++) {
		more = vfs_snapshot_drop_some(t.v, &at, count, &e);
		if (more < 0)
			fail_msg("%s", e.text);
		if (busy && i % 7 == 3 && i < 100)
			change_a_lot(20 + i);
	}
}

static void a_drop_in_batchs_is_the_same(void **state)
{
	static const int64_t counts[] = {1, 3, 50, 100000};

	(void)state;
	for (int i = 0; i < 8; i++) {
		char *first, *third, *now;
		struct vfs *old;
		struct err e;

		change_a_lot(1);
		first = picture(t.v);
		snap("s1");
		change_a_lot(2);
		snap("s2");
		change_a_lot(3);
		third = picture(t.v);
		snap("s3");
		change_a_lot(4);
		snap("s4");
		change_a_lot(5);
		drop_in_batches("s2", counts[i % 4], i > 3);
		drop_in_batches("s4", counts[i % 4], i > 3);
		change_a_lot(6);
		assert_ok(vfs_open(&old, t.db, "main@s1", "test", &e), &e);
		now = picture(old);
		assert_string_equal(now, first);
		vfs_close(old);
		free(now);
		assert_ok(vfs_open(&old, t.db, "main@s3", "test", &e), &e);
		now = picture(old);
		assert_string_equal(now, third);
		vfs_close(old);
		free(now);
		drop_in_batches("s1", counts[i % 4], i > 3);
		drop_in_batches("s3", counts[i % 4], i > 3);
		assert_int_equal(number(t.db, "SELECT count(*) FROM vfs_snap"),
				 0);
		assert_int_equal(
			number(t.db, "SELECT (SELECT count(*) FROM "
				     "vfs_undo_inode) + (SELECT count(*) FROM "
				     "vfs_undo_chunk) + (SELECT count(*) FROM "
				     "vfs_undo_dentry) + (SELECT count(*) FROM "
				     "vfs_undo_xattr)"),
			0);
		free(first);
		free(third);
	}
}

/* What another process wrote meanwhile is found by another walk. */
static void others_may_write_between_the_batchs(void **state)
{
	struct vfs_drop at = {0};
	struct vfs *old, *other;
	struct sql *second;
	struct err e;
	char *first, *now;
	int more = 1;

	(void)state;
	change_a_lot(1);
	first = picture(t.v);
	snap("s1");
	change_a_lot(2);
	snap("s2");
	change_a_lot(3);
	assert_ok(
		sql_open(&second, sql_path(t.db), agent_schema.queries, 0, &e),
		&e);
	assert_ok(vfs_open(&other, second, "main", "other", &e), &e);
	assert_ok(vfs_snapshot_hide(t.v, "s2", &e), &e);
	for (int i = 0; more; i++) {
		more = vfs_snapshot_drop_some(t.v, &at, 5, &e);
		if (more < 0)
			fail_msg("%s", e.text);
		if (i % 3 == 0 && i < 60) {
			char name[32];

			snprintf(name, sizeof name, "d%d/f%d", i % 4, i % 12);
			(void)vfs_remove(other, name, true, &e);
			put(other, "big", "from the other");
		}
	}
	vfs_close(other);
	sql_close(second);
	assert_ok(vfs_open(&old, t.db, "main@s1", "test", &e), &e);
	now = picture(old);
	assert_string_equal(now, first);
	vfs_close(old);
	assert_int_equal(number(t.db,
				"SELECT count(*) FROM vfs_undo_inode "
				"WHERE snap <> (SELECT id FROM vfs_snap)"),
			 0);
	free(first);
	free(now);
}

/* Half of it, then nothing for a while, as after a kill: it is not to be seen,
 * its name is free, and the next caller continues. */
static void a_drop_that_stopped_is_finished_later(void **state)
{
	struct vfs_snapshot *list;
	struct vfs_drop at = {0};
	struct arena a = {0};
	struct vfs *again;
	struct err e;

	(void)state;
	change_a_lot(1);
	snap("s1");
	change_a_lot(2);
	assert_ok(vfs_snapshot_hide(t.v, "s1", &e), &e);
	assert_int_equal(vfs_snapshot_drop_some(t.v, &at, 2, &e), 1);
	assert_int_equal(vfs_snapshots(t.v, &list, &a, &e), 0);
	arena_fini(&a);
	assert_int_equal(vfs_open(&again, t.db, "main@s1", "test", &e), -1);
	snap("s1");
	change_a_lot(3);
	assert_ok(vfs_open(&again, t.db, "main", "later", &e), &e);
	at = (struct vfs_drop){0};
	while (vfs_snapshot_drop_some(again, &at, 3, &e) > 0)
		;
	vfs_close(again);
	assert_int_equal(number(t.db, "SELECT count(*) FROM vfs_snap"), 1);
	drop_in_batches("s1", 10, false);
	assert_int_equal(number(t.db, "SELECT count(*) FROM vfs_undo_chunk"),
			 0);
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
	assert_ok(vfs_rollback_to(t.v, "s1", &e), &e);
	assert_ok(vfs_snapshot_drop(t.v, "s1", &e), &e);
	assert_int_equal(number(t.db, "SELECT count(*) FROM vfs_blob"), blobs);
	assert_ok(vfs_remove(t.v, "d0", true, &e), &e);
	snap("s2");
	assert_ok(vfs_remove(t.v, "d1", true, &e), &e);
	assert_ok(vfs_remove(t.v, "d3", true, &e), &e);
	assert_ok(vfs_remove(t.v, "moved", true, &e), &e);
	assert_ok(vfs_remove(t.v, "big", true, &e), &e);
	assert_int_not_equal(number(t.db, "SELECT count(*) FROM vfs_blob"), 0);
	assert_ok(vfs_snapshot_drop(t.v, "s2", &e), &e);
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
	assert_ok(vfs_fork(t.v, "twin", &e), &e);
	assert_int_equal(number(t.db, "SELECT count(*) FROM vfs_blob"), blobs);
	assert_ok(vfs_open(&fork, t.db, "twin", "test", &e), &e);
	there = picture(fork);
	assert_string_equal(here, there);
	free(there);
	change_a_lot(2);
	there = picture(fork);
	assert_string_equal(here, there);
	put(fork, "d2/f1", "mine");
	vfs_close(fork);
	assert_ok(vfs_destroy(t.db, "twin", &e), &e);
	assert_int_equal(number(t.db, "SELECT count(*) FROM vfs_blob_refs"), 0);
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
	assert_ok(vfs_open(&old, t.db, "main@s1", "test", &e), &e);
	assert_ok(vfs_fork(old, "past", &e), &e);
	vfs_close(old);
	assert_ok(vfs_snapshot_drop(t.v, "s1", &e), &e);
	change_a_lot(4);
	assert_ok(vfs_open(&fork, t.db, "past", "test", &e), &e);
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
	assert_ok(vfs_fork(t.v, "twin", &e), &e);
	assert_ok(vfs_open(&other, t.db, "twin", "test", &e), &e);
	assert_ok(vfs_snapshot(other, "s", &e), &e);
	put(other, "d2/f1", "mine");
	vfs_close(other);
	assert_ok(vfs_destroy(t.db, "twin", &e), &e);
	assert_int_equal(
		number(t.db, "SELECT count(*) FROM vfs_inode WHERE id >> 40 <> "
			     "(SELECT id FROM vfs_ns)"),
		0);
	assert_int_equal(number(t.db, "SELECT count(*) FROM vfs_undo_inode"),
			 0);
}

/* Steps of SQLite's machine to drop, or to go back to, the newer of two snapshots
 * that both keep all n files. */
static int64_t steps_of_newer(int n, bool back)
{
	static const char *const names[] = {"older", "newer", NULL};
	struct err e;

	assert_ok(vfs_mkdir(t.v, "d", 0755, false, &e), &e);
	for (int round = 0; round < 3; round++) {
		assert_ok(vfs_begin(t.v, &e), &e);
		for (int i = 0; i < n; i++) {
			char name[32];

			snprintf(name, sizeof name, "d/f%d", i);
			put(t.v, name, round ? round > 1 ? "c" : "b" : "a");
		}
		assert_ok(vfs_commit(t.v, &e), &e);
		if (names[round])
			snap(names[round]);
	}
	(void)sql_steps(t.db);
	if (back)
		assert_ok(vfs_rollback_to(t.v, "newer", &e), &e);
	else
		assert_ok(vfs_snapshot_drop(t.v, "newer", &e), &e);
	return sql_steps(t.db);
}

static void rows_of_an_older_snapshot_are_read_once(void **state)
{
	(void)state;
	for (int back = 0; back < 2; back++) {
		int64_t few = steps_of_newer(400, back), many;

		vfs_test_end(&t);
		vfs_test_begin(&t);
		many = steps_of_newer(8000, back);
		print_message("%s: %.1f and %.1f steps a file\n",
			      back ? "rollback" : "drop", (double)few / 400,
			      (double)many / 8000);
		assert_true(many < few * 20 * 11 / 10);
		vfs_test_end(&t);
		vfs_test_begin(&t);
	}
}

/* A name whose order has nothing to do with the order of creation, and so long
 * that a few thousand fill the usual cache. */
static void put_scattered(int n, const char *text)
{
	struct err e;

	assert_ok(vfs_begin(t.v, &e), &e);
	for (int i = 0; i < n; i++) {
		char name[256];

		snprintf(name, sizeof name, "d/%08x%0200d",
			 (unsigned)i * 2654435761u, i);
		put(t.v, name, text);
	}
	assert_ok(vfs_commit(t.v, &e), &e);
}

static void expect_fewer_pages(const char *what)
{
	int64_t moved = sql_pages(t.db),
		all = number(t.db, "PRAGMA page_count");

	print_message("%s: %.1f times the pages of the file\n", what,
		      (double)moved / (double)all);
	assert_true(moved < all);
	assert_int_equal(number(t.db, "PRAGMA cache_size"), -SQL_CACHE_KIB);
}

static void a_bulk_operation_moves_fewer_pages_than_the_file_has(void **state)
{
	struct err e;

	(void)state;
	assert_ok(vfs_mkdir(t.v, "d", 0755, false, &e), &e);
	put_scattered(6000, "a");
	snap("s");
	put_scattered(6000, "b");
	(void)sql_pages(t.db);
	assert_ok(vfs_rollback_to(t.v, "s", &e), &e);
	expect_fewer_pages("rollback");
	put_scattered(6000, "c");
	(void)sql_pages(t.db);
	assert_ok(vfs_snapshot_drop(t.v, "s", &e), &e);
	expect_fewer_pages("drop a snapshot");
	assert_ok(vfs_copy(t.v, "d", "copy", true, &e), &e);
	expect_fewer_pages("copy -r");
	assert_ok(vfs_remove(t.v, "copy", true, &e), &e);
	expect_fewer_pages("rm -r");
}

static int ignore(void *arg, const struct vfs_found *f, struct err *e)
{
	(void)arg, (void)f, (void)e;
	return 0;
}

static void nothing_cached(void)
{
	struct err e;

	assert_ok(sql_script(t.db, "PRAGMA shrink_memory", &e), &e);
	(void)sql_pages(t.db);
}

static void a_bulk_operation_reads_no_page_twice(void **state)
{
	struct vfs_compact compact = {0};
	struct vfs_check check = {0};
	struct err e;

	(void)state;
	assert_ok(vfs_mkdir(t.v, "d", 0755, false, &e), &e);
	put_scattered(6000, "a");
	nothing_cached();
	assert_ok(vfs_visit(t.v, "", ignore, NULL, &e), &e);
	expect_fewer_pages("a walk");
	nothing_cached();
	assert_ok(vfs_check(t.db, &check, &e), &e);
	assert_int_equal(check.found, 0);
	expect_fewer_pages("fsck");
	nothing_cached();
	assert_ok(vfs_compact(t.db, &compact, &e), &e);
	expect_fewer_pages("compact");
}

#define T(name)                                                \
	cmocka_unit_test_setup_teardown(name, set_up_vfs_snap, \
					tear_down_vfs_snap)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_snapshot_shows_what_was),
		T(going_back_restores_everything),
		T(dropping_one_keeps_the_older_ones_right),
		T(a_drop_in_batchs_is_the_same),
		T(others_may_write_between_the_batchs),
		T(a_drop_that_stopped_is_finished_later),
		T(the_space_of_a_dropped_snapshot_comes_back),
		T(a_fork_shares_contents_and_nothing_else),
		T(a_snapshot_can_be_forked),
		T(a_removed_namespace_leaves_nothing),
		T(rows_of_an_older_snapshot_are_read_once),
		T(a_bulk_operation_moves_fewer_pages_than_the_file_has),
		T(a_bulk_operation_reads_no_page_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
