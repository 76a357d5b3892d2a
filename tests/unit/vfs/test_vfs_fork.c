/* Forks that read directories when they are used. The oracle is a fork that has
 * read everything at once: both get the same changes and must look the same. */
#include "tests/support/vfs_test.h"

#include "lib/db/sql.h"
#include "schema/agent_queries.h"
#include "vfs/check/check.h"
#include "vfs/core/visit.h"
#include "vfs/snapshot/diff.h"
#include "vfs/snapshot/merge.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define DIRS   5
#define FILES  4
#define ROUNDS 60
#define STEPS  14
#define PLENTY (1 << 30)

static struct vfs_test t;

static int set_up_vfs_fork(void **state)
{
	(void)state;
	vfs_test_begin(&t);
	return 0;
}

static int tear_down_vfs_fork(void **state)
{
	(void)state;
	vfs_test_end(&t);
	return 0;
}

static uint64_t random_state;

static unsigned pick_number(unsigned below)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (unsigned)(random_state % below);
}

static void dir_name(unsigned d, char out[64])
{
	snprintf(out, 64, d % 2 ? "d%u" : "top/d%u", d);
}

static void file_name(unsigned d, unsigned f, char out[96])
{
	char dir[64];

	dir_name(d, dir);
	snprintf(out, 96, "%s/f%u", dir, f);
}

/* Files of all sizes, links within and between directories, attributes. */
static void fill_tree(struct vfs *v)
{
	static char big[200000];
	char name[96], other[96];
	struct err e;

	memset(big, 'x', sizeof big);
	for (unsigned d = 0; d < DIRS; d++)
		for (unsigned f = 0; f < FILES; f++) {
			struct vfs_put how = {.parents = true};
			size_t n = f == 1 ? sizeof big : 10 * (d + f);

			file_name(d, f, name);
			assert_ok(vfs_write_file(v, name, (struct blob){big, n},
						 &how, &e),
				  &e);
		}
	file_name(0, 0, name);
	for (unsigned d = 1; d < 4; d++) {
		struct vfs_place at;
		struct vfs_attr a = stat_of(v, name);

		file_name(d, 9, other);
		assert_ok(vfs_walk_place(v, other, &at, &e), &e);
		assert_ok(vfs_link(v, a.ino, (struct vfs_at){at.dir, at.name},
				   &a, &e),
			  &e);
	}
	assert_ok(vfs_symlink(v, "f1", "d1/soft", &e), &e);
	assert_ok(vfs_setxattr(v, stat_of(v, "d1/f2").ino, "user.a",
			       (struct blob){"v", 1}, 0, &e),
		  &e);
	assert_ok(vfs_setxattr(v, stat_of(v, "").ino, "user.root",
			       (struct blob){"r", 1}, 0, &e),
		  &e);
}

struct step {
	unsigned kind, d, f, d2, f2;
};

static struct step next_step(void)
{
	return (struct step){pick_number(9), pick_number(DIRS),
			     pick_number(FILES), pick_number(DIRS),
			     pick_number(FILES)};
}

static int link_file(struct vfs *v, const char *from, const char *to,
		     struct err *e)
{
	struct vfs_place at;
	struct vfs_attr a;

	if (vfs_walk(v, from, VFS_NOFOLLOW, &a, e) ||
	    vfs_walk_place(v, to, &at, e))
		return -1;
	return vfs_link(v, a.ino, (struct vfs_at){at.dir, at.name}, &a, e);
}

static int set_mode(struct vfs *v, const char *path, mode_t mode, struct err *e)
{
	struct vfs_set set = {.what = VFS_SET_MODE, .mode = mode};
	struct vfs_attr a;

	if (vfs_walk(v, path, VFS_NOFOLLOW, &a, e))
		return -1;
	return vfs_setattr(v, a.ino, &set, &a, e);
}

/* 0, or the code of the error. */
static int do_step(struct vfs *v, const struct step *s)
{
	struct vfs_put append = {.append = true};
	struct blob text = {"text", 4};
	char name[96], other[96], dir[64], dir2[64];
	struct err e = {0};
	int rc = 0;

	file_name(s->d, s->f, name);
	file_name(s->d2, s->f2, other);
	dir_name(s->d, dir);
	dir_name(s->d2, dir2);
	switch (s->kind) {
	case 0:
		rc = vfs_write_file(v, name, text, &(struct vfs_put){0}, &e);
		break;
	case 1:
		rc = vfs_write_file(v, name, text, &append, &e);
		break;
	case 2:
		rc = vfs_remove(v, name, false, &e);
		break;
	case 3:
		rc = vfs_move(v, name, other, 0, &e);
		break;
	case 4:
		rc = link_file(v, name, other, &e);
		break;
	case 5:
		rc = set_mode(v, s->f % 2 ? dir : name, 0700, &e);
		break;
	case 6:
		rc = vfs_move(v, dir, dir2, 0, &e);
		break;
	case 7:
		rc = s->f == 0 ? vfs_remove(v, dir, true, &e)
			       : vfs_mkdir(v, dir, 0755, true, &e);
		break;
	default:
		snprintf(other, sizeof other, "copy%u", s->f2);
		rc = vfs_copy(v, dir, other, true, &e);
		break;
	}
	return rc ? (int)e.code : 0;
}

static void same(struct vfs *a, struct vfs *b)
{
	char *x = picture(a), *y = picture(b);

	assert_string_equal(x, y);
	free(x);
	free(y);
}

static struct vfs *open_space(const char *name)
{
	struct vfs *v;
	struct err e;

	assert_ok(vfs_open(&v, t.db, name, "test", &e), &e);
	return v;
}

static void check_file(void)
{
	struct vfs_check c = {.deep = true};
	struct err e;

	assert_ok(vfs_check(t.db, &c, &e), &e);
	assert_int_equal(c.found, 0);
}

static void same_usage(struct vfs *a, struct vfs *b)
{
	struct vfs_usage x, y;
	struct err e;

	assert_ok(vfs_usage(a, &x, &e), &e);
	assert_ok(vfs_usage(b, &y, &e), &e);
	assert_int_equal(x.files, y.files);
	assert_int_equal(x.bytes, y.bytes);
}

/* The counters of a quota are what counting gives. */
static void check_counters(struct vfs *v, bool quota)
{
	struct vfs_usage kept, counted;
	struct err e;

	assert_ok(vfs_usage(v, &kept, &e), &e);
	assert_int_equal(kept.max_bytes, quota ? PLENTY : 0);
	assert_ok(vfs_set_quota(v, 0, 0, &e), &e);
	assert_ok(vfs_usage(v, &counted, &e), &e);
	assert_int_equal(kept.files, counted.files);
	assert_int_equal(kept.bytes, counted.bytes);
}

/* What happens to the source between the steps must not show in its forks. */
static void disturb_source(struct vfs *source)
{
	struct step s = next_step();
	struct err ignored;

	switch (pick_number(6)) {
	case 0:
		vfs_snapshot(source, "other", &ignored);
		break;
	case 1:
		vfs_snapshot_drop(source, "other", &ignored);
		break;
	case 2:
		vfs_rollback_to(source, "other", &ignored);
		break;
	default:
		do_step(source, &s);
		break;
	}
}

/* Snapshots of the forks, and going back to them. */
static void mark_forks(struct vfs *a, struct vfs *b, unsigned kind)
{
	struct err e;
	int x = 0, y = 0;

	if (kind == 0) {
		x = vfs_snapshot(a, "mark", &e);
		y = vfs_snapshot(b, "mark", &e);
	} else if (kind == 1) {
		x = vfs_rollback_to(a, "mark", &e);
		y = vfs_rollback_to(b, "mark", &e);
	} else if (kind == 2) {
		x = vfs_snapshot_drop(a, "mark", &e);
		y = vfs_snapshot_drop(b, "mark", &e);
	}
	assert_int_equal(x, y);
}

static void one_round(uint64_t seed, bool of_snapshot)
{
	struct vfs *source, *from, *a, *b;
	bool quota = seed % 4 > 1;
	struct err e;

	random_state = seed * 0x9e3779b97f4a7c15u + 1;
	assert_ok(vfs_create(t.db, "source", NULL, &e), &e);
	source = open_space("source");
	fill_tree(source);
	if (quota && seed % 5 > 0)
		assert_ok(vfs_set_quota(source, PLENTY, 0, &e), &e);
	assert_ok(vfs_snapshot(source, "start", &e), &e);
	if (quota && seed % 5 == 0)
		assert_ok(vfs_set_quota(source, PLENTY, 0, &e), &e);
	from = open_space(of_snapshot ? "source@start" : "source");
	assert_ok(vfs_fork(from, "a", &e), &e);
	assert_ok(vfs_fork(from, "b", &e), &e);
	vfs_close(from);
	a = open_space("a");
	b = open_space("b");
	free(picture(b)); /* reads everything */
	for (int i = 0; i < STEPS; i++) {
		struct step s = next_step();

		assert_int_equal(do_step(a, &s), do_step(b, &s));
		disturb_source(source);
		mark_forks(a, b, pick_number(12));
		if (pick_number(4) == 0)
			same_usage(a, b);
		if (pick_number(6) == 0)
			check_file();
	}
	if (seed % 3 == 0) {
		vfs_close(source);
		assert_ok(vfs_destroy(t.db, "source", &e), &e);
		source = NULL;
	}
	same(a, b);
	check_counters(a, quota);
	check_counters(b, quota);
	vfs_close(a);
	vfs_close(b);
	check_file();
	assert_ok(vfs_destroy(t.db, "a", &e), &e);
	assert_ok(vfs_destroy(t.db, "b", &e), &e);
	check_file();
	vfs_close(source);
	if (source)
		assert_ok(vfs_destroy(t.db, "source", &e), &e);
	assert_int_equal(number(t.db, "SELECT count(*) FROM vfs_unread"), 0);
	assert_int_equal(number(t.db, "SELECT count(*) FROM vfs_blob"), 0);
}

static void a_fork_looks_like_one_that_has_read_everything(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= ROUNDS; seed++)
		one_round(seed, seed % 2);
}

static int64_t rows_of_tree(void)
{
	return number(t.db,
		      "SELECT (SELECT count(*) FROM vfs_inode) + (SELECT "
		      "count(*) FROM vfs_dentry) + (SELECT count(*) FROM "
		      "vfs_chunk) + (SELECT count(*) FROM vfs_blob_refs)");
}

static void a_fork_copies_only_the_directories_that_are_used(void **state)
{
	struct vfs *fork;
	struct err e;
	int64_t before;

	(void)state;
	fill_tree(t.v);
	before = rows_of_tree();
	assert_ok(vfs_fork(t.v, "twin", &e), &e);
	assert_int_equal(rows_of_tree(), before + 1);
	fork = open_space("twin");
	expect_missing(fork, "d1/none");
	/* the entries of the root and of d1: nodes, names, chunks, counters */
	assert_in_range(rows_of_tree() - before, 10, 40);
	same(t.v, fork);
	vfs_close(fork);
	assert_ok(vfs_destroy(t.db, "twin", &e), &e);
	assert_int_equal(rows_of_tree(), before);
	assert_int_equal(number(t.db, "SELECT count(*) FROM vfs_snap"), 0);
}

static int count_difference(void *arg, const struct vfs_difference *d,
			    struct err *e)
{
	(void)d;
	(void)e;
	++*(int *)arg;
	return 0;
}

static void forks_are_compared_and_merged_without_reading_the_rest(void **state)
{
	struct vfs_merge m = {0};
	struct diff_source a = {0}, b = {0};
	struct err e;
	int64_t before;
	int n = 0;

	(void)state;
	fill_tree(t.v);
	assert_ok(vfs_snapshot(t.v, "start", &e), &e);
	a.v = open_space("main@start");
	assert_ok(vfs_fork(a.v, "one", &e), &e);
	assert_ok(vfs_fork(a.v, "two", &e), &e);
	vfs_close(a.v);
	a.v = open_space("one");
	b.v = open_space("two");
	put(a.v, "d1/new", "a");
	put(b.v, "d1/new", "b");
	put(b.v, "d1/f2", "b");
	before = number(t.db, "SELECT count(*) FROM vfs_unread");
	assert_ok(vfs_diff(&a, &b, count_difference, &n, &e), &e);
	assert_int_equal(n, 2);
	assert_int_equal(number(t.db, "SELECT count(*) FROM vfs_unread"),
			 before);
	assert_ok(vfs_merge(b.v, &m, &e), &e);
	expect(t.v, "d1/new", "b");
	vfs_close(a.v);
	vfs_close(b.v);
	check_file();
	assert_ok(vfs_destroy(t.db, "one", &e), &e);
	assert_ok(vfs_destroy(t.db, "two", &e), &e);
}

static void a_fork_of_a_fork_and_of_its_snapshot_have_everything(void **state)
{
	struct vfs *fork, *second, *third, *old;
	struct err e;

	(void)state;
	fill_tree(t.v);
	assert_ok(vfs_fork(t.v, "one", &e), &e);
	fork = open_space("one");
	put(fork, "d1/f0", "changed");
	assert_ok(vfs_snapshot(fork, "s", &e), &e);
	put(fork, "d1/f0", "later");
	old = open_space("one@s");
	expect(old, "d1/f0", "changed");
	assert_ok(vfs_fork(old, "two", &e), &e);
	assert_ok(vfs_fork(fork, "three", &e), &e);
	second = open_space("two");
	third = open_space("three");
	same(old, second);
	same(fork, third);
	vfs_close(old);
	vfs_close(second);
	vfs_close(third);
	vfs_close(fork);
	assert_ok(vfs_destroy(t.db, "one", &e), &e);
	check_file();
	second = open_space("two");
	expect(second, "d1/f0", "changed");
	vfs_close(second);
}

static void a_fork_whose_source_is_lost_is_repaired(void **state)
{
	struct vfs_check c = {.repair = true};
	struct err e;
	struct vfs *fork;

	(void)state;
	fill_tree(t.v);
	assert_ok(vfs_fork(t.v, "twin", &e), &e);
	fork = open_space("twin");
	assert_ok(sql_script(t.db,
			     "DELETE FROM vfs_snap WHERE name GLOB "
			     "'.source-*'",
			     &e),
		  &e);
	assert_int_equal(vfs_mkdir(fork, "x", 0755, false, &e), -1);
	assert_int_equal(e.code, ERR_CORRUPT);
	vfs_close(fork);
	assert_ok(vfs_check(t.db, &c, &e), &e);
	assert_true(c.found > 0);
	check_file();
	assert_ok(vfs_destroy(t.db, "twin", &e), &e);
}

#define T(name)                                                \
	cmocka_unit_test_setup_teardown(name, set_up_vfs_fork, \
					tear_down_vfs_fork)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_fork_looks_like_one_that_has_read_everything),
		T(a_fork_copies_only_the_directories_that_are_used),
		T(forks_are_compared_and_merged_without_reading_the_rest),
		T(a_fork_of_a_fork_and_of_its_snapshot_have_everything),
		T(a_fork_whose_source_is_lost_is_repaired),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
