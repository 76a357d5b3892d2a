#include "tests/support/vfs_test.h"
#include "vfs/check/check.h"

#include "lib/db/sql.h"
#include "lib/os/atomic_file.h"
#include "lib/os/file.h"
#include "vfs/snapshot/diff.h"
#include "vfs/snapshot/merge.h"
#include "vfs/snapshot/udiff.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static struct vfs_test t;

static int set_up_vfs_diff(void **state)
{
	(void)state;
	vfs_test_begin(&t);
	return 0;
}

static int tear_down_vfs_diff(void **state)
{
	(void)state;
	vfs_test_end(&t);
	return 0;
}

static int note_difference(void *arg, const struct vfs_difference *d,
			   struct err *e)
{
	(void)e;
	buf_addf(arg, "%s %s\n", vfs_difference_letter(d->kind), d->path);
	return 0;
}

static void expect_diff(struct diff_source a, struct diff_source b,
			const char *want)
{
	struct buf got = BUF_MAX(1 << 20);
	struct err e;

	assert_ok(vfs_diff(&a, &b, note_difference, &got, &e), &e);
	assert_string_equal(got.p, want);
	buf_fini(&got);
}

static struct vfs *open_ns(const char *name)
{
	struct vfs *v;
	struct err e;

	assert_ok(vfs_open(&v, t.db, name, "test", &e), &e);
	return v;
}

static void make_some(void)
{
	put(t.v, "a/one", "1");
	put(t.v, "a/two", "2");
	put(t.v, "b/c/three", "3");
	put(t.v, "d/four", "4");
}

static void change_some(struct vfs *v)
{
	struct err e;

	put(v, "a/one", "changed");
	put(v, "a/new/deep", "5");
	assert_ok(vfs_remove(v, "b", true, &e), &e);
	assert_ok(vfs_move(v, "d/four", "d/moved", 0, &e), &e);
	assert_ok(vfs_remove(v, "a/two", false, &e), &e);
	assert_ok(vfs_mkdir(v, "a/two", 0755, false, &e), &e);
}

static const char sorted[] = "A a/new\n"
			     "A a/new/deep\n"
			     "M a/one\n"
			     "D a/two\n"
			     "A a/two\n"
			     "D b/c/three\n"
			     "D b/c\n"
			     "D b\n"
			     "D d/four\n"
			     "A d/moved\n";

static void a_snapshot_and_now_differ_by_what_was_done(void **state)
{
	struct vfs *old;
	struct err e;

	(void)state;
	make_some();
	assert_ok(vfs_snapshot(t.v, "s", &e), &e);
	old = open_ns("main@s");
	expect_diff((struct diff_source){.v = old},
		    (struct diff_source){.v = t.v}, "");
	change_some(t.v);
	expect_diff((struct diff_source){.v = old},
		    (struct diff_source){.v = t.v}, sorted);
	vfs_close(old);
}

static void a_change_under_a_second_name_is_seen(void **state)
{
	struct vfs_attr a;
	struct vfs *old;
	struct err e;

	(void)state;
	make_some();
	a = stat_of(t.v, "a/one");
	assert_ok(vfs_link(t.v, a.ino,
			   (struct vfs_at){stat_of(t.v, "d").ino, "link"}, &a,
			   &e),
		  &e);
	assert_ok(vfs_snapshot(t.v, "s", &e), &e);
	put(t.v, "a/one", "changed");
	old = open_ns("main@s");
	expect_diff((struct diff_source){.v = old},
		    (struct diff_source){.v = t.v}, "M a/one\nM d/link\n");
	vfs_close(old);
}

static void forks_and_host_directories_can_be_compared(void **state)
{
	struct vfs *fork;
	struct err e;
	const char *dir = temp_join(&t.dir, "host");

	(void)state;
	make_some();
	assert_ok(vfs_fork(t.v, "twin", &e), &e);
	fork = open_ns("twin");
	expect_diff((struct diff_source){.v = t.v},
		    (struct diff_source){.v = fork}, "");
	change_some(fork);
	expect_diff((struct diff_source){.v = t.v},
		    (struct diff_source){.v = fork}, sorted);
	assert_int_equal(mkdir(dir, 0755), 0);
	assert_ok(atomic_file_write(temp_join(&t.dir, "host/x"), "x", 1, 0644,
				    &e),
		  &e);
	expect_diff((struct diff_source){.dir = temp_join(&t.dir, "host")},
		    (struct diff_source){.v = t.v},
		    "A a\nA a/one\nA a/two\nA b\nA b/c\nA b/c/three\nA d\n"
		    "A d/four\nD x\n");
	vfs_close(fork);
}

static void a_fork_is_merged_where_the_parent_stood_still(void **state)
{
	struct vfs_merge m = {0};
	struct vfs *fork;
	struct err e;

	(void)state;
	make_some();
	assert_ok(vfs_fork(t.v, "twin", &e), &e);
	fork = open_ns("twin");
	change_some(fork);
	put(t.v, "parent-only", "p");
	assert_ok(vfs_merge(fork, &m, &e), &e);
	assert_int_equal(m.conflicts, 0);
	expect(t.v, "a/one", "changed");
	expect(t.v, "a/new/deep", "5");
	expect(t.v, "parent-only", "p");
	expect_missing(t.v, "b");
	expect_diff((struct diff_source){.v = t.v},
		    (struct diff_source){.v = fork}, "D parent-only\n");
	put(fork, "again", "x");
	assert_ok(vfs_merge(fork, &m, &e), &e);
	assert_int_equal(m.applied, 1);
	expect(t.v, "parent-only", "p");
	expect(t.v, "again", "x");
	vfs_close(fork);
}

static void note_conflict(void *arg, const struct vfs_difference *d,
			  bool conflict)
{
	if (conflict)
		buf_addf(arg, "%s\n", d->path);
}

static void conflicts_are_named_and_nothing_is_merged(void **state)
{
	struct buf named = BUF_MAX(1000);
	struct vfs_merge m = {.report = note_conflict, .arg = &named};
	struct vfs *fork;
	struct err e;

	(void)state;
	make_some();
	assert_ok(vfs_fork(t.v, "twin", &e), &e);
	fork = open_ns("twin");
	put(fork, "a/one", "fork");
	put(fork, "a/two", "same");
	put(fork, "d/four", "fork's");
	put(t.v, "a/one", "parent");
	put(t.v, "a/two", "same");
	assert_int_equal(vfs_merge(fork, &m, &e), -1);
	assert_int_equal(e.code, ERR_CONFLICT);
	assert_string_equal(named.p, "a/one\n");
	expect(t.v, "d/four", "4");
	m.strategy = VFS_STRATEGY_PARENT;
	assert_ok(vfs_merge(fork, &m, &e), &e);
	expect(t.v, "a/one", "parent");
	expect(t.v, "d/four", "fork's");
	put(fork, "a/one", "fork again");
	m.strategy = VFS_STRATEGY_FORK;
	assert_ok(vfs_merge(fork, &m, &e), &e);
	expect(t.v, "a/one", "fork again");
	vfs_close(fork);
	buf_fini(&named);
}

static void host(const char *name, const char *text)
{
	char path[256];
	struct err e;

	snprintf(path, sizeof path, "host/%s", name);
	assert_ok(atomic_file_write(temp_join(&t.dir, path), text, strlen(text),
				    0644, &e),
		  &e);
}

static void expect_host(const char *name, const char *text)
{
	struct buf b = BUF_MAX(1 << 20);
	char path[256];
	struct err e;

	snprintf(path, sizeof path, "host/%s", name);
	assert_ok(file_read(temp_join(&t.dir, path), &b, &e), &e);
	assert_string_equal(b.p, text);
	buf_fini(&b);
}

static struct vfs *scratch(void)
{
	struct err e;

	assert_int_equal(mkdir(temp_join(&t.dir, "host"), 0755), 0);
	assert_int_equal(mkdir(temp_join(&t.dir, "host/d"), 0755), 0);
	host("keep", "kept");
	host("d/change", "before");
	host("d/gone", "x");
	assert_ok(vfs_create(t.db, "over", temp_join(&t.dir, "host"), &e), &e);
	return open_ns("over");
}

static void a_scratch_namespace_never_writes_to_its_host(void **state)
{
	struct vfs *v = scratch();
	struct vfs_attr a;
	struct err e;

	(void)state;
	expect(v, "d/change", "before");
	assert_int_equal(number(t.db, "SELECT count(*) FROM vfs_blob"), 0);
	a = stat_of(v, "d/change");
	assert_ok(vfs_pwrite(v, a.ino, "B", 1, 0, &e), &e);
	expect(v, "d/change", "Before");
	assert_ok(vfs_remove(v, "d/gone", false, &e), &e);
	put(v, "d/new", "n");
	expect_missing(v, "d/gone");
	expect_host("d/change", "before");
	expect_host("d/gone", "x");
	assert_int_equal(access(temp_join(&t.dir, "host/d/new"), F_OK), -1);
	expect_diff((struct diff_source){.dir = temp_join(&t.dir, "host")},
		    (struct diff_source){.v = v},
		    "M d/change\nD d/gone\nA d/new\n");
	vfs_close(v);
}

static void applying_brings_the_changes_to_the_host(void **state)
{
	struct vfs *v = scratch();
	struct vfs_merge m = {0};
	struct err e;

	(void)state;
	put(v, "d/change", "after");
	put(v, "e/f/new", "n");
	assert_ok(vfs_remove(v, "d/gone", false, &e), &e);
	host("unseen", "the host's own");
	assert_ok(vfs_apply(v, &m, &e), &e);
	expect_host("d/change", "after");
	expect_host("e/f/new", "n");
	expect_host("keep", "kept");
	expect_host("unseen", "the host's own");
	assert_int_equal(access(temp_join(&t.dir, "host/d/gone"), F_OK), -1);
	expect(v, "unseen", "the host's own");
	expect(v, "d/change", "after");
	vfs_close(v);
}

static void drift_of_the_host_is_noticed(void **state)
{
	struct vfs *v = scratch();
	struct vfs_merge m = {0};
	struct buf b = BUF_MAX(1000);
	struct err e;

	(void)state;
	put(v, "d/change", "ours");
	expect(v, "keep", "kept");
	host("d/change", "theirs, meanwhile");
	host("keep", "moved on");
	assert_int_equal(vfs_read_file(v, "keep", &b, NULL, &e), -1);
	assert_int_equal(e.code, ERR_STALE);
	assert_int_equal(vfs_apply(v, &m, &e), -1);
	assert_int_equal(e.code, ERR_CONFLICT);
	assert_int_equal(m.conflicts, 1);
	expect_host("d/change", "theirs, meanwhile");
	assert_ok(vfs_discard(v, &e), &e);
	expect(v, "d/change", "theirs, meanwhile");
	expect(v, "keep", "moved on");
	buf_fini(&b);
	vfs_close(v);
}

static void a_fork_over_a_host_directory_is_merged(void **state)
{
	struct vfs_put append = {.append = true};
	struct vfs *v = scratch(), *fork;
	struct vfs_check c = {.deep = true};
	struct vfs_merge m = {0};
	struct err e;

	(void)state;
	assert_ok(vfs_fork(v, "twin", &e), &e);
	fork = open_ns("twin");
	assert_ok(vfs_write_file(fork, "keep", (struct blob){"+", 1}, &append,
				 &e),
		  &e);
	assert_ok(vfs_merge(fork, &m, &e), &e);
	assert_int_equal(m.applied, 1);
	expect(v, "keep", "kept+");
	vfs_close(fork);
	vfs_close(v);
	assert_ok(vfs_check(t.db, &c, &e), &e);
	assert_int_equal(c.found, 0);
}

static void a_scratch_namespace_can_be_kept_and_forked(void **state)
{
	struct vfs *v = scratch(), *fork;
	struct err e;

	(void)state;
	assert_ok(vfs_snapshot(v, "s", &e), &e);
	put(v, "d/change", "after");
	assert_ok(vfs_fork(v, "twin", &e), &e);
	assert_ok(vfs_rollback_to(v, "s", &e), &e);
	expect(v, "d/change", "before");
	fork = open_ns("twin");
	expect(fork, "d/change", "after");
	expect(fork, "keep", "kept");
	vfs_close(fork);
	vfs_close(v);
}

static void expect_udiff(const char *a, const char *b, const char *want)
{
	struct buf out = BUF_MAX(1 << 20);

	udiff(&(struct udiff){"f", a, strlen(a), b, strlen(b), false, false},
	      &out);
	assert_string_equal(out.p, want);
	buf_fini(&out);
}

static void texts_differ_as_people_expect(void **state)
{
	(void)state;
	expect_udiff(
		"1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n",
		"--- a/f\n+++ b/f\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n"
		" 6\n 7\n 8\n");
	expect_udiff("", "new\n", "--- a/f\n+++ b/f\n@@ -0,0 +1,1 @@\n+new\n");
	expect_udiff("a\nb", "a\n",
		     "--- a/f\n+++ b/f\n@@ -1,2 +1,1 @@\n a\n-b\n"
		     "\\ No newline at end of file\n");
}

#define T(name)                                                \
	cmocka_unit_test_setup_teardown(name, set_up_vfs_diff, \
					tear_down_vfs_diff)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_snapshot_and_now_differ_by_what_was_done),
		T(a_change_under_a_second_name_is_seen),
		T(forks_and_host_directories_can_be_compared),
		T(a_fork_is_merged_where_the_parent_stood_still),
		T(conflicts_are_named_and_nothing_is_merged),
		T(a_scratch_namespace_never_writes_to_its_host),
		T(applying_brings_the_changes_to_the_host),
		T(drift_of_the_host_is_noticed),
		T(a_fork_over_a_host_directory_is_merged),
		T(a_scratch_namespace_can_be_kept_and_forked),
		T(texts_differ_as_people_expect),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
