/* What the batches of a mount remember of nodes. */
#include "tests/support/vfs_test.h"

#include "lib/db/sql.h"
#include "vfs/check/check.h"
#include "vfs/core/core.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static struct vfs_test t;
static struct sql *other_db;
static struct vfs *other; /* as another process would have it */

static int set_up_vfs_node_cache(void **state)
{
	struct err e;

	(void)state;
	vfs_test_begin(&t);
	t.v->batch_atomic = true;
	other_db = vfs_test_connect(&t);
	assert_ok(vfs_open(&other, other_db, "main", "other", &e), &e);
	return 0;
}

static int tear_down_vfs_node_cache(void **state)
{
	struct vfs_check c = {.deep = true};
	struct err e;

	(void)state;
	assert_ok(vfs_check(other_db, &c, &e), &e);
	assert_int_equal(c.found, 0);
	vfs_close(other);
	sql_close(other_db);
	vfs_test_end(&t);
	return 0;
}

static void begin_batch(void)
{
	struct err e;

	assert_ok(vfs_begin(t.v, &e), &e);
}

static void commit(void)
{
	struct err e;

	assert_ok(vfs_commit(t.v, &e), &e);
}

static int64_t make_node(const char *name, mode_t mode)
{
	struct vfs_new n = {.mode = mode};
	struct vfs_attr a;
	struct err e;

	assert_ok(vfs_make(t.v, (struct vfs_at){VFS_ROOT, name}, &n, &a, &e),
		  &e);
	return a.ino;
}

static void set_mode(struct vfs *v, int64_t ino, mode_t mode)
{
	struct vfs_set set = {.what = VFS_SET_MODE, .mode = mode};
	struct vfs_attr a;
	struct err e;

	assert_ok(vfs_setattr(v, ino, &set, &a, &e), &e);
}

static mode_t mode_of(struct vfs *v, int64_t ino)
{
	struct vfs_attr a;
	struct err e;

	assert_ok(vfs_getattr(v, ino, &a, &e), &e);
	return a.mode & 07777;
}

static void what_a_batch_did_is_there_for_it_and_then_for_all(void **state)
{
	int64_t first, dir;
	char name[32], *mine, *theirs;
	struct err e;

	(void)state;
	begin_batch();
	first = make_node("first", S_IFREG | 0644);
	dir = make_node("dir", S_IFDIR | 0755);
	set_mode(t.v, first, 0600);
	assert_ok(vfs_rename(t.v, (struct vfs_at){VFS_ROOT, "first"},
			     (struct vfs_at){dir, "moved"}, 0, &e),
		  &e);
	for (int i = 0; i < 2 * NODE_CACHE_SLOTS;
	     i++) { /* more than it can hold */
		snprintf(name, sizeof name, "f%d", i);
		set_mode(t.v, make_node(name, S_IFREG | 0644), 0400);
	}
	assert_int_equal(mode_of(t.v, first), 0600);
	assert_int_equal(stat_of(t.v, "dir/moved").ino, first);
	expect_missing(t.v, "first");
	mine = picture(t.v);
	commit();
	theirs = picture(other);
	assert_string_equal(mine, theirs);
	free(mine);
	free(theirs);
}

static void what_others_did_is_seen_by_the_next_batch(void **state)
{
	int64_t ino;

	(void)state;
	begin_batch();
	ino = make_node("f", S_IFREG | 0644);
	commit();
	set_mode(other, ino, 0400);
	begin_batch();
	assert_int_equal(mode_of(t.v, ino), 0400);
	commit();
}

static void a_batch_that_is_rolled_back_is_forgotten(void **state)
{
	int64_t ino;

	(void)state;
	begin_batch();
	ino = make_node("f", S_IFREG | 0644);
	commit();
	begin_batch();
	set_mode(t.v, ino, 0400);
	vfs_rollback(t.v);
	begin_batch();
	assert_int_equal(mode_of(t.v, ino), 0644);
	commit();
	assert_int_equal(mode_of(other, ino), 0644);
}

static void a_node_that_is_gone_is_not_remembered(void **state)
{
	struct vfs_attr a;
	struct err e;
	int64_t ino;

	(void)state;
	begin_batch();
	ino = make_node("f", S_IFREG | 0644);
	set_mode(t.v, ino, 0400);
	assert_ok(vfs_unlink(t.v, (struct vfs_at){VFS_ROOT, "f"}, &e), &e);
	assert_int_equal(vfs_getattr(t.v, ino, &a, &e), -1);
	assert_int_equal(e.code, ERR_NOTFOUND);
	commit();
	assert_int_equal(vfs_getattr(other, ino, &a, &e), -1);
}

static void a_snapshot_keeps_what_a_batch_changes(void **state)
{
	struct vfs *old;
	struct err e;
	int64_t ino;

	(void)state;
	begin_batch();
	ino = make_node("f", S_IFREG | 0644);
	commit();
	assert_ok(vfs_snapshot(other, "s", &e), &e);
	begin_batch();
	set_mode(t.v, ino, 0400);
	set_mode(t.v, ino, 0200);
	commit();
	assert_ok(vfs_open(&old, other_db, "main@s", "test", &e), &e);
	assert_int_equal(mode_of(old, ino), 0644);
	vfs_close(old);
	assert_ok(vfs_rollback_to(other, "s", &e), &e);
	begin_batch();
	assert_int_equal(mode_of(t.v, ino), 0644);
	commit();
}

static void a_call_that_fails_halfway_takes_its_batch_with_it(void **state)
{
	struct node root;
	struct err e;

	(void)state;
	begin_batch();
	make_node("one", S_IFREG | 0644);
	assert_int_equal(vfs_unlink(t.v, (struct vfs_at){VFS_ROOT, "none"}, &e),
			 -1); /* nothing changed: nothing lost */
	commit();
	stat_of(other, "one");
	begin_batch();
	make_node("two", S_IFREG | 0644);
	assert_ok(tx_begin(t.v, &e), &e);
	assert_ok(node_get(t.v, VFS_ROOT, &root, &e), &e);
	root.mode = S_IFDIR | 0711;
	assert_ok(node_save(t.v, &root, &e), &e);
	tx_end(t.v, err_set(&e, ERR_IO, "planted"), &e);
	assert_int_equal(vfs_commit(t.v, &e), -1);
	expect_missing(other, "two");
	assert_int_equal(mode_of(other, VFS_ROOT), 0755);
}

static void set_times(int64_t ino, int64_t modified)
{
	struct vfs_set set = {.what = VFS_SET_MODIFIED, .modified = modified};
	struct vfs_attr a;
	struct err e;

	assert_ok(vfs_setattr(t.v, ino, &set, &a, &e), &e);
}

/* "create move_from ": what the journal has after seq. */
static const char *said_since(int64_t seq)
{
	static char text[200];
	struct arena mem = {0};
	struct vfs_change *c;
	struct err e;
	int n = vfs_changes(other, seq, 100, &c, &mem, &e);

	text[0] = '\0';
	for (int i = 0; i < n; i++)
		snprintf(text + strlen(text), sizeof text - strlen(text), "%s ",
			 vfs_op_name(c[i].op));
	arena_fini(&mem);
	return text;
}

/* The kernel of a mount sets them after every write, move and removal. */
static void times_are_said_with_the_change_that_they_follow(void **state)
{
	struct vfs_at a = {VFS_ROOT, "a"}, b = {VFS_ROOT, "b"};
	int64_t before, ino;
	struct err e;

	(void)state;
	assert_ok(vfs_last_change(other, &before, &e), &e);
	begin_batch();
	ino = make_node("a", S_IFREG | 0644);
	set_times(ino, 1);
	assert_ok(vfs_rename(t.v, a, b, 0, &e), &e);
	set_times(ino, 2);
	make_node("c", S_IFREG | 0644);
	set_times(ino, 3); /* follows another file's change */
	commit();
	begin_batch();
	set_times(ino, 4); /* others have seen what was before */
	commit();
	assert_string_equal(said_since(before),
			    "create move_from move_to create attr attr ");
}

#define T(name)                                                      \
	cmocka_unit_test_setup_teardown(name, set_up_vfs_node_cache, \
					tear_down_vfs_node_cache)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(what_a_batch_did_is_there_for_it_and_then_for_all),
		T(what_others_did_is_seen_by_the_next_batch),
		T(a_batch_that_is_rolled_back_is_forgotten),
		T(a_node_that_is_gone_is_not_remembered),
		T(a_snapshot_keeps_what_a_batch_changes),
		T(a_call_that_fails_halfway_takes_its_batch_with_it),
		T(times_are_said_with_the_change_that_they_follow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
