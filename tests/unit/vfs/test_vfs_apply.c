/* A namespace's changes go to the host directory below it. */
#include "tests/support/vfs_test.h"

#include "lib/os/atomic_file.h"
#include "lib/os/file.h"
#include "vfs/snapshot/merge.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static struct vfs_test t;

static void host(const char *name, const char *text)
{
	char path[4096];
	struct err e;

	snprintf(path, sizeof path, "%s/host/%s", t.dir.path, name);
	assert_ok(atomic_file_write(path, text, strlen(text), 0644, &e), &e);
}

static void expect_host(const char *name, const char *text)
{
	struct buf b = BUF_MAX(1000);
	char path[4096];
	struct err e;

	snprintf(path, sizeof path, "%s/host/%s", t.dir.path, name);
	assert_ok(file_read(path, &b, &e), &e);
	assert_string_equal(b.p, text);
	buf_fini(&b);
}

/* Over host/, which has the files f and g and an empty directory d. */
static struct vfs *scratch(const char *who)
{
	struct vfs *v;
	struct err e;

	assert_ok(vfs_open(&v, t.db, "w", who, &e), &e);
	return v;
}

static int set_up_vfs_apply(void **state)
{
	struct err e;

	(void)state;
	vfs_test_begin(&t);
	mkdir(temp_join(&t.dir, "host"), 0755);
	mkdir(temp_join(&t.dir, "host/d"), 0755);
	host("f", "f");
	host("g", "g");
	assert_ok(vfs_create(t.db, "w", temp_join(&t.dir, "host"), &e), &e);
	return 0;
}

static int tear_down_vfs_apply(void **state)
{
	(void)state;
	vfs_test_end(&t);
	return 0;
}

static void a_file_takes_the_place_of_a_directory_and_back(void **state)
{
	struct vfs *v = scratch("test");
	struct vfs_merge m = {0};
	struct err e;

	(void)state;
	assert_ok(vfs_remove(v, "d", true, &e), &e);
	put(v, "d", "a file");
	assert_ok(vfs_remove(v, "f", false, &e), &e);
	put(v, "f/g/h", "below");
	assert_ok(vfs_apply(v, &m, &e), &e);
	assert_int_equal(m.conflicts, 0);
	expect_host("d", "a file");
	expect_host("f/g/h", "below");
	vfs_close(v);
}

static void write_beside(void *arg, const struct vfs_difference *d,
			 bool conflict)
{
	(void)conflict;
	if (!strcmp(d->path, "f"))
		put(arg, "late", "written meanwhile");
}

static void what_others_write_meanwhile_is_not_dropped(void **state)
{
	struct vfs *v = scratch("one"), *other = scratch("two");
	struct vfs_merge m = {.report = write_beside, .arg = other};
	struct err e;

	(void)state;
	put(v, "f", "changed");
	assert_int_equal(vfs_apply(v, &m, &e), -1);
	assert_int_equal(e.code, ERR_STALE);
	expect_host("f", "changed");
	expect(v, "late", "written meanwhile");
	m.report = NULL;
	assert_ok(vfs_apply(v, &m, &e), &e);
	expect_host("late", "written meanwhile");
	vfs_close(other);
	vfs_close(v);
}

static bool is_on_host(const char *name)
{
	return file_size(temp_join(&t.dir, name)) >= 0;
}

/* The old name sorts before the new one and is removed first. */
static void a_moved_file_keeps_its_content(void **state)
{
	struct vfs *v = scratch("test");
	struct vfs_merge m = {0};
	struct err e;

	(void)state;
	host("d/x", "below d");
	assert_ok(vfs_move(v, "f", "z", 0, &e), &e);
	assert_ok(vfs_move(v, "d", "e", 0, &e), &e);
	assert_ok(vfs_apply(v, &m, &e), &e);
	expect_host("z", "f");
	expect_host("e/x", "below d");
	assert_false(is_on_host("host/f"));
	assert_false(is_on_host("host/d"));
	expect(v, "e/x", "below d");
	vfs_close(v);
}

static void exchanged_files_keep_their_contents(void **state)
{
	struct vfs *v = scratch("test");
	struct vfs_merge m = {0};
	struct err e;

	(void)state;
	assert_ok(vfs_move(v, "f", "g", VFS_EXCHANGE, &e), &e);
	assert_ok(vfs_apply(v, &m, &e), &e);
	expect_host("f", "g");
	expect_host("g", "f");
	vfs_close(v);
}

static void take_the_new_name(void *arg, const struct vfs_difference *d,
			      bool conflict)
{
	(void)arg, (void)conflict;
	if (!strcmp(d->path, "f"))
		assert_int_equal(mkdir(temp_join(&t.dir, "host/z"), 0755), 0);
}

static void a_failed_apply_loses_no_moved_file(void **state)
{
	struct vfs *v = scratch("test");
	struct vfs_merge m = {.report = take_the_new_name};
	struct err e;

	(void)state;
	assert_ok(vfs_move(v, "f", "z", 0, &e), &e);
	assert_int_equal(vfs_apply(v, &m, &e), -1);
	assert_false(is_on_host("host/f"));
	assert_int_equal(rmdir(temp_join(&t.dir, "host/z")), 0);
	expect(v, "z", "f");
	m.report = NULL;
	assert_ok(vfs_apply(v, &m, &e), &e);
	expect_host("z", "f");
	vfs_close(v);
}

#define T(name)                                                 \
	cmocka_unit_test_setup_teardown(name, set_up_vfs_apply, \
					tear_down_vfs_apply)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_file_takes_the_place_of_a_directory_and_back),
		T(what_others_write_meanwhile_is_not_dropped),
		T(a_moved_file_keeps_its_content),
		T(exchanged_files_keep_their_contents),
		T(a_failed_apply_loses_no_moved_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
