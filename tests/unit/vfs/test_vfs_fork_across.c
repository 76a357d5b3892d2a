#include "tests/support/vfs_test.h"

#include "lib/db/sql.h"
#include "schema/agent_queries.h"
#include "vfs/check/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Forks of a namespace in the file of another agent. */
static struct vfs_test from, to;

static int set_up_files(void **state)
{
	(void)state;
	vfs_test_begin(&from);
	vfs_test_begin(&to);
	return 0;
}

static int tear_down_files(void **state)
{
	(void)state;
	vfs_test_end(&from);
	vfs_test_end(&to);
	return 0;
}

/* Small, large, sparse, empty; links of both kinds; attributes. */
static void fill_source(void)
{
	struct vfs_put how = {.parents = true};
	char big[200000];
	struct vfs_attr a;
	struct err e;

	for (size_t i = 0; i < sizeof big; i++)
		big[i] = (char)((uint32_t)i * 2654435761u >> 24);
	assert_ok(vfs_write_file(from.v, "d/e/big",
				 (struct blob){big, sizeof big}, &how, &e),
		  &e);
	put(from.v, "small", "one");
	put(from.v, "same", "one");
	put(from.v, "sparse", "x");
	a = stat_of(from.v, "sparse");
	assert_ok(vfs_pwrite(from.v, a.ino, "end", 3, 10 << 20, &e), &e);
	a = stat_of(from.v, "small");
	assert_ok(vfs_setxattr(from.v, a.ino, "user.note",
			       (struct blob){"v", 1}, 0, &e),
		  &e);
	assert_ok(vfs_link(from.v, a.ino, (struct vfs_at){VFS_ROOT, "hard"}, &a,
			   &e),
		  &e);
	assert_ok(vfs_symlink(from.v, "d/e", "soft", &e), &e);
}

static void fork_to(struct vfs *source, const char *name)
{
	struct vfs_fork_new new = {.name = name};
	struct err e;

	assert_ok(vfs_fork_across(source, to.db, &new, &e), &e);
}

static void expect_picture(const char *name, const char *wanted)
{
	struct vfs *v;
	struct err e;
	char *now;

	assert_ok(vfs_open(&v, to.db, name, "test", &e), &e);
	now = picture(v);
	assert_string_equal(now, wanted);
	free(now);
	vfs_close(v);
}

static void a_fork_in_another_file_is_equal(void **state)
{
	struct vfs *old;
	struct err e;
	char *before, *after;

	(void)state;
	fill_source();
	before = picture(from.v);
	assert_ok(vfs_snapshot(from.v, "s", &e), &e);
	put(from.v, "small", "two");
	assert_ok(vfs_remove(from.v, "d", true, &e), &e);
	put(from.v, "new", "three");
	after = picture(from.v);
	assert_ok(vfs_open(&old, from.db, "main@s", "test", &e), &e);
	fork_to(old, "past");
	fork_to(from.v, "head");
	expect_picture("past", before);
	expect_picture("head", after);
	vfs_close(old);
	free(before);
	free(after);
}

static void a_content_is_stored_once(void **state)
{
	struct vfs *v;
	struct err e;
	int64_t blobs;

	(void)state;
	fill_source();
	fork_to(from.v, "one");
	blobs = number(to.db, "SELECT count(*) FROM vfs_blob");
	/* "one" twice, and the contents of big and sparse */
	assert_int_equal(number(from.db, "SELECT count(*) FROM vfs_blob"),
			 blobs + 1);
	fork_to(from.v, "two");
	assert_int_equal(number(to.db, "SELECT count(*) FROM vfs_blob"), blobs);
	/* neither changes the other */
	assert_ok(vfs_open(&v, to.db, "one", "test", &e), &e);
	put(v, "small", "ONE");
	vfs_close(v);
	assert_ok(vfs_open(&v, to.db, "two", "test", &e), &e);
	expect(v, "hard", "one");
	expect(v, "small", "one");
	vfs_close(v);
	assert_ok(vfs_destroy(to.db, "one", &e), &e);
	assert_ok(vfs_destroy(to.db, "two", &e), &e);
	assert_ok(vfs_gc_contents(to.db, &e), &e);
	assert_int_equal(number(to.db, "SELECT count(*) FROM vfs_blob"), 0);
	assert_int_equal(number(to.db, "SELECT count(*) FROM vfs_copied"), 0);
}

static void compaction_keeps_copied_contents(void **state)
{
	struct vfs_compact c = {0};
	struct err e;
	char *wanted;

	(void)state;
	fill_source();
	put(to.v, "own", "one"); /* equal to a copied one */
	fork_to(from.v, "one");
	assert_ok(vfs_compact(to.db, &c, &e), &e);
	assert_int_equal(c.joined, 1);
	wanted = picture(from.v);
	expect_picture("one", wanted);
	fork_to(from.v, "two");
	expect_picture("two", wanted);
	free(wanted);
}

static int64_t longest_rows; /* of a batch, by its commits */

static void count_batch(void)
{
	longest_rows++;
	/* nothing is visible yet */
	assert_int_equal(number(to.db, "SELECT count(*) FROM vfs_ns WHERE name "
				       "= 'large'"),
			 0);
}

static void a_large_fork_is_many_short_transactions(void **state)
{
	struct vfs_fork_new new = {.name = "large", .progress = count_batch};
	struct err e;
	char name[32];

	(void)state;
	assert_ok(vfs_begin(from.v, &e), &e);
	for (int i = 0; i < 9000; i++) {
		snprintf(name, sizeof name, "f%d", i);
		put(from.v, name, name);
	}
	assert_ok(vfs_commit(from.v, &e), &e);
	assert_ok(vfs_fork_across(from.v, to.db, &new, &e), &e);
	/* a node and a name for each file */
	assert_in_range(longest_rows, 18000 / 2000, 18000 / 2000 + 1);
	assert_int_equal(vfs_fork_across(from.v, to.db, &new, &e), -1);
	assert_int_equal(e.code, ERR_CONFLICT);
	assert_int_equal(number(to.db, "SELECT count(*) FROM vfs_ns"), 2);
}

#define T(name) \
	cmocka_unit_test_setup_teardown(name, set_up_files, tear_down_files)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_fork_in_another_file_is_equal),
		T(a_content_is_stored_once),
		T(compaction_keeps_copied_contents),
		T(a_large_fork_is_many_short_transactions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
