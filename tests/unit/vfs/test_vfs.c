#include "tests/support/vfs_test.h"

#include "lib/db/sql.h"
#include "vfs/core/journal.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static struct vfs_test t;

static int set_up_vfs(void **state)
{
	(void)state;
	vfs_test_begin(&t);
	return 0;
}

static int tear_down_vfs(void **state)
{
	(void)state;
	vfs_test_end(&t);
	return 0;
}

static void what_is_written_is_read_back(void **state)
{
	(void)state;
	put(t.v, "a/b/c.txt", "hello");
	expect(t.v, "/a/b/c.txt", "hello");
	put(t.v, "a/b/c.txt", "bye");
	expect(t.v, "a//b/./c.txt", "bye");
	assert_int_equal(stat_of(t.v, "a/b").nlink, 2);
	assert_int_equal(stat_of(t.v, "a").nlink, 3);
}

static void paths_cannot_leave_the_namespace(void **state)
{
	static const char *const out[] = {"..", "a/../../x", "up/x", "abs/x",
					  "a/up2/../../x"};
	struct vfs_attr a;
	struct err e;

	(void)state;
	put(t.v, "a/f", "x");
	assert_int_equal(vfs_symlink(t.v, "..", "up", &e), 0);
	assert_int_equal(vfs_symlink(t.v, "/etc", "abs", &e), 0);
	assert_int_equal(vfs_symlink(t.v, "..", "a/up2", &e), 0);
	for (size_t i = 0; i < sizeof out / sizeof out[0]; i++) {
		assert_int_equal(vfs_walk(t.v, out[i], VFS_FOLLOW, &a, &e), -1);
		assert_int_equal(e.code, ERR_ESCAPE);
	}
	expect(t.v, "a/up2/a/f", "x");
}

static void a_loop_of_links_ends(void **state)
{
	struct vfs_attr a;
	struct err e;

	(void)state;
	assert_int_equal(vfs_symlink(t.v, "b", "a", &e), 0);
	assert_int_equal(vfs_symlink(t.v, "a", "b", &e), 0);
	assert_int_equal(vfs_walk(t.v, "a", VFS_FOLLOW, &a, &e), -1);
	assert_int_equal(err_errno(e.code), ELOOP);
}

static void a_file_row_is_never_overwritten_by_a_directory(void **state)
{
	struct err e;

	(void)state;
	put(t.v, "f", "x");
	assert_int_equal(vfs_mkdir(t.v, "f", 0755, true, &e), -1);
	assert_int_equal(e.code, ERR_CONFLICT);
	assert_int_equal(vfs_mkdir(t.v, "f/g", 0755, true, &e), -1);
	assert_int_equal(e.code, ERR_NOTDIR);
	expect(t.v, "f", "x");
}

static void names_are_bytes_and_not_patterns(void **state)
{
	struct vfs_dir d;
	struct err e;
	char longest[256], too_long[257];

	(void)state;
	memset(longest, 'n', 255);
	longest[255] = '\0';
	memset(too_long, 'n', 256);
	too_long[256] = '\0';
	put(t.v, "%", "percent");
	put(t.v, "_", "line");
	put(t.v, "\xff\xfe\n'\"", "odd");
	put(t.v, longest, "long");
	expect(t.v, "%", "percent");
	expect(t.v, "_", "line");
	expect(t.v, "\xff\xfe\n'\"", "odd");
	expect(t.v, longest, "long");
	assert_int_equal(vfs_mkdir(t.v, too_long, 0755, false, &e), -1);
	assert_int_equal(err_errno(e.code), ENAMETOOLONG);
	assert_int_equal(vfs_readdir(t.v, VFS_ROOT, &d, &e), 0);
	assert_int_equal(d.n, 4);
	vfs_dir_fini(&d);
}

static void holes_read_as_zeros_and_cut_bytes_stay_cut(void **state)
{
	struct vfs_set cut = {.what = VFS_SET_SIZE};
	struct vfs_attr a;
	struct err e;
	char got[8];

	(void)state;
	put(t.v, "f", "start");
	a = stat_of(t.v, "f");
	assert_int_equal(vfs_pwrite(t.v, a.ino, "end", 3, 200000, &e), 0);
	assert_int_equal(vfs_pread(t.v, a.ino, got, 8, 100000, &e), 8);
	assert_memory_equal(got, "\0\0\0\0\0\0\0\0", 8);
	assert_int_equal(vfs_pread(t.v, a.ino, got, 8, 199998, &e), 5);
	assert_memory_equal(got, "\0\0end", 5);
	cut.size = 2;
	assert_int_equal(vfs_setattr(t.v, a.ino, &cut, &a, &e), 0);
	cut.size = 70000;
	assert_int_equal(vfs_setattr(t.v, a.ino, &cut, &a, &e), 0);
	assert_int_equal(vfs_pread(t.v, a.ino, got, 8, 0, &e), 8);
	assert_memory_equal(got, "st\0\0\0\0\0\0", 8);
}

static void a_conditional_write_needs_the_right_etag(void **state)
{
	struct vfs_put how = {.if_etag = ""};
	struct blob data = {"new", 3};
	struct vfs_attr a;
	char etag[VFS_ETAG];
	struct err e;

	(void)state;
	put(t.v, "f", "old");
	assert_int_equal(vfs_write_file(t.v, "f", data, &how, &e), -1);
	assert_int_equal(e.code, ERR_STALE);
	a = stat_of(t.v, "f");
	vfs_etag(&a, etag);
	how.if_etag = etag;
	assert_int_equal(vfs_write_file(t.v, "f", data, &how, &e), 0);
	assert_int_equal(vfs_write_file(t.v, "f", data, &how, &e), -1);
	expect(t.v, "f", "new");
}

static void an_unlinked_file_lives_while_it_is_held(void **state)
{
	struct vfs_attr a;
	struct err e;
	char got[3];

	(void)state;
	put(t.v, "f", "abc");
	a = stat_of(t.v, "f");
	vfs_ref(t.v, a.ino);
	assert_int_equal(vfs_remove(t.v, "f", false, &e), 0);
	expect_missing(t.v, "f");
	assert_int_equal(vfs_pread(t.v, a.ino, got, 3, 0, &e), 3);
	assert_int_equal(number(t.db, "SELECT count(*) FROM vfs_orphan"), 1);
	vfs_unref(t.v, a.ino, 1);
	assert_int_equal(vfs_getattr(t.v, a.ino, &a, &e), -1);
	assert_int_equal(number(t.db, "SELECT count(*) FROM vfs_orphan"), 0);
	assert_int_equal(number(t.db, "SELECT count(*) FROM vfs_blob"), 0);
}

static void orphans_of_a_dead_process_are_reaped(void **state)
{
	struct vfs *again;
	struct vfs_attr a;
	struct err e;

	(void)state;
	put(t.v, "f", "abc");
	a = stat_of(t.v, "f");
	vfs_ref(t.v, a.ino);
	assert_int_equal(vfs_remove(t.v, "f", false, &e), 0);
	assert_int_equal(
		sql_script(t.db, "UPDATE vfs_orphan SET start = 1", &e), 0);
	assert_int_equal(vfs_open(&again, t.db, "main", "test", &e), 0);
	assert_int_equal(vfs_getattr(again, a.ino, &a, &e), -1);
	vfs_close(again);
}

static void a_full_quota_stops_growth_and_changes_nothing(void **state)
{
	struct vfs_usage u;
	struct blob big = {"0123456789", 10};
	struct err e;

	(void)state;
	put(t.v, "f", "abc");
	assert_int_equal(vfs_set_quota(t.v, 8, 4, &e), 0);
	assert_int_equal(vfs_write_file(t.v, "f", big, NULL, &e), -1);
	assert_int_equal(err_errno(e.code), EDQUOT);
	expect(t.v, "f", "abc");
	put(t.v, "g", "12345");
	assert_int_equal(vfs_mkdir(t.v, "d", 0755, false, &e), 0);
	assert_int_equal(vfs_mkdir(t.v, "e", 0755, false, &e), -1);
	assert_int_equal(e.code, ERR_QUOTA);
	assert_int_equal(vfs_usage(t.v, &u, &e), 0);
	assert_int_equal(u.bytes, 8);
	assert_int_equal(u.files, 4);
	assert_int_equal(vfs_remove(t.v, "g", false, &e), 0);
	put(t.v, "f", "12345678");
}

static void a_failed_call_in_a_batch_leaves_the_others(void **state)
{
	struct err e;

	(void)state;
	assert_int_equal(vfs_begin(t.v, &e), 0);
	put(t.v, "a", "1");
	assert_int_equal(vfs_mkdir(t.v, "a/b", 0755, false, &e), -1);
	put(t.v, "b", "2");
	assert_int_equal(vfs_commit(t.v, &e), 0);
	expect(t.v, "a", "1");
	expect(t.v, "b", "2");
	assert_int_equal(vfs_begin(t.v, &e), 0);
	put(t.v, "c", "3");
	vfs_rollback(t.v);
	expect_missing(t.v, "c");
}

static void two_connections_see_each_others_changes(void **state)
{
	struct sql *db2 = vfs_test_connect(&t);
	struct vfs *other;
	struct err e;

	(void)state;
	assert_int_equal(vfs_open(&other, db2, "main", "other", &e), 0);
	put(t.v, "f", "one");
	expect(other, "f", "one");
	put(other, "f", "two");
	put(other, "g", "new");
	expect(t.v, "f", "two");
	put(t.v, "h", "x");
	assert_int_not_equal(stat_of(t.v, "h").ino, stat_of(other, "g").ino);
	vfs_close(other);
	sql_close(db2);
}

static void the_journal_tells_who_did_what(void **state)
{
	struct vfs_change *c;
	struct arena mem = {0};
	struct err e;
	int64_t last;

	(void)state;
	assert_int_equal(vfs_last_change(t.v, &last, &e), 0);
	put(t.v, "f", "one");
	assert_int_equal(vfs_move(t.v, "f", "g", 0, &e), 0);
	assert_int_equal(vfs_changes(t.v, last, 100, &c, &mem, &e), 3);
	assert_string_equal(vfs_op_name(c[0].op), "create");

	assert_string_equal(vfs_op_name(c[1].op), "move_from");
	assert_string_equal(c[2].name, "g");
	assert_string_equal(c[2].who, "test");
	arena_fini(&mem);
}

static void attributes_are_kept_with_the_node(void **state)
{
	struct buf b = BUF_MAX(1000);
	struct vfs_attr a;
	struct err e;

	(void)state;
	put(t.v, "f", "");
	a = stat_of(t.v, "f");
	assert_int_equal(vfs_setxattr(t.v, a.ino, "user.a",
				      (struct blob){"1\0002", 3}, 0, &e),
			 0);
	assert_int_equal(vfs_setxattr(t.v, a.ino, "user.a", (struct blob){0},
				      VFS_XATTR_CREATE, &e),
			 -1);
	assert_int_equal(vfs_getxattr(t.v, a.ino, "user.a", &b, &e), 0);
	assert_int_equal(b.n, 3);
	assert_int_equal(vfs_rmxattr(t.v, a.ino, "user.a", &e), 0);
	assert_int_equal(vfs_getxattr(t.v, a.ino, "user.a", &b, &e), -1);
	assert_int_equal(err_errno(e.code), ENODATA);
	buf_fini(&b);
}

/* user::rw- user:1234:rwx group::r-x mask::PERM other::--- */
#define ACL_WITH_MASK(perm)                                  \
	"\2\0\0\0\1\0\6\0\377\377\377\377\2\0\7\0\322\4\0\0" \
	"\4\0\5\0\377\377\377\377\20\0" perm                 \
	"\0\377\377\377\377\40\0\0\0\377\377\377\377"
/* user::rw- group::r-- other::r-- */
#define ACL_PLAIN                                                  \
	"\2\0\0\0\1\0\6\0\377\377\377\377\4\0\4\0\377\377\377\377" \
	"\40\0\4\0\377\377\377\377"
#define ACL         "system.posix_acl_access"
#define BYTES(text) ((struct blob){text, sizeof(text) - 1})

static void an_acl_and_the_mode_are_one(void **state)
{
	struct vfs_set mode = {.what = VFS_SET_MODE, .mode = 0640};
	struct buf b = BUF_MAX(1000);
	struct vfs_attr a;
	struct err e;

	(void)state;
	put(t.v, "f", "");
	a = stat_of(t.v, "f");
	assert_ok(vfs_setxattr(t.v, a.ino, ACL, BYTES(ACL_WITH_MASK("\7")), 0,
			       &e),
		  &e);
	assert_int_equal(stat_of(t.v, "f").mode, S_IFREG | 0670);
	assert_ok(vfs_setattr(t.v, a.ino, &mode, &a, &e), &e);
	assert_ok(vfs_getxattr(t.v, a.ino, ACL, &b, &e), &e);
	assert_int_equal(b.n, sizeof ACL_WITH_MASK("\4") - 1);
	assert_memory_equal(b.p, ACL_WITH_MASK("\4"), b.n);
	assert_ok(vfs_setxattr(t.v, a.ino, ACL, BYTES(ACL_PLAIN), 0, &e), &e);
	assert_int_equal(stat_of(t.v, "f").mode, S_IFREG | 0644);
	assert_int_equal(vfs_getxattr(t.v, a.ino, ACL, &b, &e), -1);
	assert_int_equal(e.code, ERR_NOATTR);
	assert_int_equal(
		vfs_setxattr(t.v, a.ino, ACL, BYTES("\2\0\0\0"), 0, &e), -1);
	assert_int_equal(err_errno(e.code), EINVAL);
	buf_fini(&b);
}

static void a_path_is_found_for_every_link(void **state)
{
	struct buf b = BUF_MAX(1000);
	struct vfs_attr a;
	struct err e;

	(void)state;
	put(t.v, "d/f", "");
	put(t.v, "e/x", "");
	a = stat_of(t.v, "d/f");
	assert_int_equal(vfs_link(t.v, a.ino,
				  (struct vfs_at){stat_of(t.v, "e").ino, "l"},
				  &a, &e),
			 0);
	assert_int_equal(vfs_remove(t.v, "d", true, &e), 0);
	assert_int_equal(vfs_path_of(t.v, a.ino, &b, &e), 0);
	assert_string_equal(b.p, "e/l");
	buf_fini(&b);
}

#define T(name) cmocka_unit_test_setup_teardown(name, set_up_vfs, tear_down_vfs)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(what_is_written_is_read_back),
		T(paths_cannot_leave_the_namespace),
		T(a_loop_of_links_ends),
		T(a_file_row_is_never_overwritten_by_a_directory),
		T(names_are_bytes_and_not_patterns),
		T(holes_read_as_zeros_and_cut_bytes_stay_cut),
		T(a_conditional_write_needs_the_right_etag),
		T(an_unlinked_file_lives_while_it_is_held),
		T(orphans_of_a_dead_process_are_reaped),
		T(a_full_quota_stops_growth_and_changes_nothing),
		T(a_failed_call_in_a_batch_leaves_the_others),
		T(two_connections_see_each_others_changes),
		T(the_journal_tells_who_did_what),
		T(attributes_are_kept_with_the_node),
		T(an_acl_and_the_mode_are_one),
		T(a_path_is_found_for_every_link),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
