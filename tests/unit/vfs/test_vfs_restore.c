#include "tests/support/vfs_test.h"

#include "lib/db/sql.h"
#include "schema/agent/marker.h"
#include "schema/agent_queries.h"
#include "vfs/snapshot/restore.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* Restoring paths from snapshots, and markers. */
static struct vfs_test t;

static int set_up_vfs_restore(void **state)
{
	(void)state;
	vfs_test_begin(&t);
	return 0;
}

static int tear_down_vfs_restore(void **state)
{
	(void)state;
	vfs_test_end(&t); /* with fsck */
	return 0;
}

/* Contents of all sizes, links of both kinds, attributes, moved files and
 * directories, files that become directories. */
static void change_much(struct vfs *v, int seed)
{
	struct vfs_put how = {.parents = true};
	char big[200000], name[64];
	struct vfs_attr a;
	struct err e;

	memset(big, 'a' + seed % 20, sizeof big);
	for (int i = 0; i < 9; i++) {
		snprintf(name, sizeof name, "d%d/f%d", (i + seed) % 3, i);
		(void)vfs_write_file(
			v, name,
			(struct blob){big, (size_t)(i * 21001 + seed * 7)},
			&how, &e);
	}
	snprintf(name, sizeof name, "d%d", seed % 3);
	(void)vfs_move(v, name, "moved", 0, &e);
	(void)vfs_remove(v, seed % 2 ? "moved" : "type", true, &e);
	put(v, "two", "names");
	a = stat_of(v, "two");
	snprintf(name, sizeof name, "link%d", seed);
	assert_ok(vfs_link(v, a.ino, (struct vfs_at){VFS_ROOT, name}, &a, &e),
		  &e);
	assert_ok(vfs_pwrite(v, a.ino, "end", 3, 150000 + seed * 1000, &e), &e);
	assert_ok(vfs_setxattr(v, a.ino, seed % 2 ? "user.odd" : "user.even",
			       (struct blob){"v", 1}, 0, &e),
		  &e);
	if (seed % 2)
		(void)vfs_mkdir(v, "type", 0700, false, &e);
	else
		put(v, "type", "a file");
}

static void restore_all(struct vfs *v, const char *to)
{
	struct vfs_restore r = {.to = to};
	struct err e;

	assert_ok(vfs_restore(v, &r, &e), &e);
}

static void expect_now(struct vfs *v, const char *wanted)
{
	char *now = picture(v);

	assert_string_equal(now, wanted);
	free(now);
}

static void any_snapshot_comes_back_and_all_stay(void **state)
{
	static const char *const names[] = {"s0", "s1", "s2", "s3", "s4"};
	static const int order[] = {2, 0, 4, 1, 3, 0, 4};
	char *at[5];
	struct err e;

	(void)state;
	for (int i = 0; i < 5; i++) {
		change_much(t.v, i);
		at[i] = picture(t.v);
		assert_ok(vfs_snapshot(t.v, names[i], &e), &e);
	}
	for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
		restore_all(t.v, names[order[i]]);
		expect_now(t.v, at[order[i]]);
	}
	/* before-images are right: a rollback uses nothing else */
	for (int i = 4; i >= 0; i--) {
		assert_ok(vfs_rollback_to(t.v, names[i], &e), &e);
		expect_now(t.v, at[i]);
		free(at[i]);
	}
}

static bool is_wanted(void *arg, const char *path)
{
	return strcmp(path, arg) == 0;
}

static void a_path_that_changed_later_is_a_conflict(void **state)
{
	struct vfs_restore r = {.to = "before", .from = "after"};
	struct err e;

	(void)state;
	put(t.v, "a", "1");
	put(t.v, "b", "1");
	assert_ok(vfs_snapshot(t.v, "before", &e), &e);
	put(t.v, "a", "2");
	put(t.v, "b", "2");
	put(t.v, "c", "2");
	assert_ok(vfs_snapshot(t.v, "after", &e), &e);
	put(t.v, "b", "3");
	assert_int_equal(vfs_restore(t.v, &r, &e), -1);
	assert_int_equal(e.code, ERR_CONFLICT);
	assert_int_equal(r.m.conflicts, 1);
	expect(t.v, "a", "2");
	r.wants = is_wanted;
	r.m.arg = (char[]){"a"};
	assert_ok(vfs_restore(t.v, &r, &e), &e);
	expect(t.v, "a", "1");
	expect(t.v, "b", "3");
	r.wants = NULL;
	r.m.strategy = VFS_STRATEGY_FORK;
	assert_ok(vfs_restore(t.v, &r, &e), &e);
	expect(t.v, "b", "1");
	expect_missing(t.v, "c");
}

static void one_path_of_a_moved_file_becomes_a_copy(void **state)
{
	struct vfs_restore r = {
		.to = "s", .wants = is_wanted, .m = {.arg = (char[]){"a"}}};
	struct err e;

	(void)state;
	put(t.v, "a", "text");
	assert_ok(vfs_snapshot(t.v, "s", &e), &e);
	assert_ok(vfs_move(t.v, "a", "b", 0, &e), &e);
	assert_ok(vfs_restore(t.v, &r, &e), &e);
	put(t.v, "b", "other");
	expect(t.v, "a", "text");
	assert_int_equal(stat_of(t.v, "a").nlink, 1);
}

/* --- over a directory ---------------------------------------------------- */

static void write_host(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void a_directory_read_later_is_in_older_snapshots(void **state)
{
	static const char *const dirs[] = {"", "/sub", "/sub/a", "/sub/b"};
	char dir[256], path[512];
	struct vfs *v, *old;
	int64_t id;
	struct err e;
	char *then;

	(void)state;
	snprintf(dir, sizeof dir, "%s", temp_join(&t.dir, "low"));
	for (int i = 0; i < 4; i++) {
		snprintf(path, sizeof path, "%s%s", dir, dirs[i]);
		assert_int_equal(mkdir(path, 0755), 0);
		snprintf(path, sizeof path, "%s%s/f", dir, dirs[i]);
		write_host(path, i ? "deep" : "top");
	}
	assert_ok(vfs_create(t.db, "over", dir, &e), &e);
	assert_ok(vfs_open(&v, t.db, "over", "test", &e), &e);
	assert_ok(vfs_snapshot_hidden(v, ".first", &id, &e), &e);
	assert_int_equal(number(t.db, "SELECT count(*) FROM vfs_lower"), 1);
	put(v, "new", "x"); /* reads the root, but not sub */
	assert_ok(vfs_snapshot_hidden(v, ".second", &id, &e), &e);
	assert_ok(vfs_move(v, "sub", "away", 0, &e), &e);
	put(v, "f", "changed");
	/* both views read directories */
	restore_all(v, ".second");
	expect(v, "sub/a/f", "deep");
	assert_ok(vfs_remove(v, "sub", true, &e), &e);
	put(v, "f", "changed");
	assert_ok(vfs_open(&old, t.db, "over@.first", "test", &e), &e);
	expect(old, "sub/f", "deep");
	expect(old, "f", "top");
	expect_missing(old, "new");
	then = picture(old);
	vfs_close(old);
	restore_all(v, ".first");
	expect_now(v, then);
	expect(v, "sub/f", "deep");
	restore_all(v, ".second");
	expect(v, "new", "x");
	expect(v, "sub/f", "deep");
	free(then);
	vfs_close(v);
}

/* --- markers ------------------------------------------------------------- */

static void add_run(void)
{
	struct err e;

	assert_ok(sql_script(t.db,
			     "INSERT INTO session (id, sid, key, created_at, "
			     "updated_at) VALUES (1, 'ses_1', 's', 0, 0);"
			     "INSERT INTO run (id, run_id, session, attempt, "
			     "epoch, status, started_at, after_seq) VALUES "
			     "(1, 'run_1', 1, 1, 1, 'running', 0, 0)",
			     &e),
		  &e);
}

/* Steps of SQLite for a marker. */
static int64_t mark_turn(int64_t turn)
{
	struct agent_file f = {.db = t.db};
	struct marker_new m = {.run = 1,
			       .session = 1,
			       .turn = turn,
			       .seq = turn,
			       .workspace = "main"};
	struct err e;

	(void)sql_steps(t.db);
	assert_ok(marker_put(&f, &m, &e), &e);
	return sql_steps(t.db);
}

static void a_marker_costs_the_same_for_any_tree(void **state)
{
	int64_t small, large;
	char name[32];
	struct err e;

	(void)state;
	add_run();
	put(t.v, "a", "1");
	(void)mark_turn(0);
	put(t.v, "a", "2");
	small = mark_turn(1);
	assert_ok(vfs_begin(t.v, &e), &e);
	for (int i = 0; i < 5000; i++) {
		snprintf(name, sizeof name, "f%d", i);
		put(t.v, name, name);
	}
	assert_ok(vfs_commit(t.v, &e), &e);
	large = mark_turn(2);
	assert_in_range(large, 0, small + 20);
	/* nothing changed: the same snapshot */
	(void)mark_turn(3);
	assert_int_equal(number(t.db, "SELECT count(*) FROM marker"), 4);
	assert_int_equal(number(t.db, "SELECT count(*) FROM vfs_snap"), 3);
	assert_int_equal(number(t.db,
				"SELECT min(snap) = max(snap) FROM marker "
				"WHERE turn > 1"),
			 1);
}

#define T(name)                                                   \
	cmocka_unit_test_setup_teardown(name, set_up_vfs_restore, \
					tear_down_vfs_restore)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(any_snapshot_comes_back_and_all_stay),
		T(a_path_that_changed_later_is_a_conflict),
		T(one_path_of_a_moved_file_becomes_a_copy),
		T(a_directory_read_later_is_in_older_snapshots),
		T(a_marker_costs_the_same_for_any_tree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
