#include "tests/support/vfs_test.h"

#include "lib/db/sql.h"
#include "vfs/snapshot/diff.h"
#include "vfs/transfer/transfer.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cmocka.h>

static struct vfs_test t;

/* Some of everything that a tree can have. */
static void make_tree(struct vfs *v)
{
	struct vfs_set old = {.what = VFS_SET_MODIFIED | VFS_SET_ACCESSED,
			      .modified = INT64_C(1234567890123456789),
			      .accessed = INT64_C(1234567890987654321)};
	struct vfs_new fifo = {.mode = S_IFIFO | 0640};
	struct vfs_set mode = {.what = VFS_SET_MODE, .mode = 04751};
	struct vfs_attr a;
	struct err e;

	put(v, "dir/file", "text");
	put(v, "dir/\xff odd \n'\"\\ name", "odd");
	put(v, "empty-file", "");
	assert_ok(vfs_mkdir(v, "empty dir", 01777, false, &e), &e);
	assert_ok(vfs_symlink(v, "dir/file", "link", &e), &e);
	assert_ok(vfs_symlink(v, "/nowhere/at all", "dangling", &e), &e);
	a = stat_of(v, "dir/file");
	assert_ok(vfs_link(v, a.ino, (struct vfs_at){VFS_ROOT, "hard"}, &a, &e),
		  &e);
	assert_ok(vfs_make(v, (struct vfs_at){VFS_ROOT, "fifo"}, &fifo, &a, &e),
		  &e);
	put(v, "program", "#!");
	a = stat_of(v, "program");
	assert_ok(vfs_setattr(v, a.ino, &mode, &a, &e), &e);
	put(v, "sparse", "s");
	a = stat_of(v, "sparse");
	assert_ok(vfs_pwrite(v, a.ino, "end", 3, 300000, &e), &e);
	assert_ok(vfs_setxattr(v, a.ino, "user.note", (struct blob){"v\0w", 3},
			       0, &e),
		  &e);
	assert_ok(vfs_setattr(v, a.ino, &old, &a, &e), &e);
	a = stat_of(v, "dir");
	assert_ok(vfs_setattr(v, a.ino, &old, &a, &e), &e);
}

static int set_up_vfs_transfer(void **state)
{
	(void)state;
	vfs_test_begin(&t);
	make_tree(t.v);
	return 0;
}

static int tear_down_vfs_transfer(void **state)
{
	(void)state;
	vfs_test_end(&t);
	return 0;
}

/* The namespace "back" must show the same as "main", times included. */
static void expect_same(struct vfs *back)
{
	char *here = picture(t.v), *there = picture(back);

	assert_string_equal(there, here);
	assert_int_equal(stat_of(back, "sparse").modified,
			 stat_of(t.v, "sparse").modified);
	assert_int_equal(stat_of(back, "dir").modified,
			 stat_of(t.v, "dir").modified);
	assert_int_equal(stat_of(back, "hard").ino,
			 stat_of(back, "dir/file").ino);
	free(here);
	free(there);
}

static struct vfs *open_back(void)
{
	struct vfs *v;
	struct err e;

	assert_ok(vfs_create(t.db, "back", NULL, &e), &e);
	assert_ok(vfs_open(&v, t.db, "back", "test", &e), &e);
	return v;
}

static void a_tree_goes_to_a_directory_and_back(void **state)
{
	struct vfs *back = open_back();
	struct vfs_transfer p = {.keep_setuid = true};
	struct err e;

	(void)state;
	assert_ok(vfs_export_dir(t.v, temp_join(&t.dir, "out"), &p, &e), &e);
	assert_int_equal(p.nodes, 12);
	assert_ok(vfs_import_dir(back, temp_join(&t.dir, "out"), &p, &e), &e);
	expect_same(back);
	vfs_close(back);
}

static void a_tree_goes_through_a_pipe_as_tar(void **state)
{
	struct vfs *back;
	struct vfs_transfer p = {.keep_setuid = true};
	struct err e;
	int ends[2], status;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0) { /* a process of its own, with its own connection */
		struct sql *db = vfs_test_connect(&t);
		struct vfs *v;

		close(ends[0]);
		status = vfs_open(&v, db, "main", "test", &e) ||
			 vfs_export_tar(v, ends[1], &p, &e);
		_exit(status);
	}
	close(ends[1]);
	back = open_back();
	assert_ok(vfs_import_tar(back, ends[0], &p, &e), &e);
	close(ends[0]);
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
	expect_same(back);
	vfs_close(back);
}

static void a_tree_goes_to_sqlar_and_back(void **state)
{
	struct vfs *back = open_back();
	struct vfs_transfer p = {.keep_setuid = true};
	struct err e;

	(void)state;
	assert_ok(vfs_export_sqlar(t.v, temp_join(&t.dir, "x.sqlar"), &p, &e),
		  &e);
	assert_ok(vfs_import_sqlar(back, temp_join(&t.dir, "x.sqlar"), &p, &e),
		  &e);
	expect(back, "dir/file", "text");
	assert_int_equal(stat_of(back, "sparse").size, 300003);
	assert_int_equal(stat_of(back, "empty dir").mode, S_IFDIR | 01777);
	assert_int_equal(stat_of(back, "link").mode, S_IFLNK | 0777);
	assert_int_equal(stat_of(back, "sparse").modified / 1000000000,
			 1234567890);
	vfs_close(back);
}

static void a_tree_goes_to_agentfs_and_back(void **state)
{
	const char *file = temp_join(&t.dir, "x.db");
	struct vfs *back = open_back();
	struct vfs_transfer p = {.keep_setuid = true};
	struct sql *db;
	struct err e;

	(void)state;
	assert_ok(vfs_rmxattr(t.v, stat_of(t.v, "sparse").ino, "user.note", &e),
		  &e);
	assert_ok(vfs_export_agentfs(t.v, file, &p, &e), &e);
	assert_int_equal(p.nodes, 12);
	assert_ok(vfs_import_agentfs(back, file, &p, &e), &e);
	expect_same(back);
	vfs_close(back);
	assert_ok(sql_open(&db, file, NULL, SQL_READONLY, &e), &e);
	/* its programs put chunks together without looking at their numbers */
	assert_int_equal(number(db,
				"SELECT sum(length(data)) FROM fs_data "
				"NATURAL JOIN fs_inode WHERE size = 300003"),
			 300003);
	assert_int_equal(number(db, "SELECT max(nlink) FROM fs_inode"), 2);
	sql_close(db);
	assert_int_equal(vfs_export_agentfs(t.v, file, &p, &e), -1);
	assert_int_equal(e.code, ERR_CONFLICT);
}

static void a_part_of_a_tree_becomes_an_agentfs_root(void **state)
{
	const char *file = temp_join(&t.dir, "x.db");
	struct vfs *back = open_back();
	struct vfs_transfer p = {.path = "dir", .keep_setuid = true},
			    in = {.path = "in"};
	struct err e;

	(void)state;
	assert_ok(vfs_export_agentfs(t.v, file, &p, &e), &e);
	assert_ok(vfs_import_agentfs(back, file, &in, &e), &e);
	expect(back, "in/file", "text");
	assert_int_equal(stat_of(back, "in").modified,
			 stat_of(t.v, "dir").modified);
	p.path = "dir/file";
	assert_int_equal(
		vfs_export_agentfs(t.v, temp_join(&t.dir, "y.db"), &p, &e), -1);
	assert_int_equal(e.code, ERR_NOTDIR);
	assert_int_equal(access(temp_join(&t.dir, "y.db"), F_OK), -1);
	vfs_close(back);
}

static void what_is_no_agentfs_file_is_refused_untouched(void **state)
{
	const char *file = temp_join(&t.dir, "x.db");
	char *before = picture(t.v), *after;
	struct vfs_transfer p = {.keep_setuid = true};
	struct sql *db;
	struct err e;

	(void)state;
	assert_ok(sql_open(&db, file, NULL, SQL_CREATE, &e), &e);
	assert_ok(sql_script(db, "CREATE TABLE fs_inode (ino)", &e), &e);
	sql_close(db);
	assert_int_equal(vfs_import_agentfs(t.v, file, &p, &e), -1);
	assert_int_equal(e.code, ERR_INVALID);
	assert_non_null(strstr(e.text, "not an AgentFS file"));
	after = picture(t.v);
	assert_string_equal(before, after);
	free(before);
	free(after);
}

/* utimensat takes no negative nanoseconds, and neither do others. */
static void times_before_1970_go_out_and_come_back(void **state)
{
	struct vfs_set old = {.what = VFS_SET_MODIFIED | VFS_SET_ACCESSED,
			      .modified = -1,
			      .accessed = -1500000000};
	struct vfs *back = open_back();
	struct vfs_transfer p = {.keep_setuid = true};
	struct vfs_attr a = stat_of(t.v, "program");
	struct err e;

	(void)state;
	assert_ok(vfs_setattr(t.v, a.ino, &old, &a, &e), &e);
	assert_ok(vfs_export_dir(t.v, temp_join(&t.dir, "out"), &p, &e), &e);
	assert_ok(vfs_import_dir(back, temp_join(&t.dir, "out"), &p, &e), &e);
	assert_int_equal(stat_of(back, "program").modified, -1);
	assert_ok(vfs_export_agentfs(t.v, temp_join(&t.dir, "x.db"), &p, &e),
		  &e);
	assert_ok(vfs_import_agentfs(back, temp_join(&t.dir, "x.db"), &p, &e),
		  &e);
	assert_int_equal(stat_of(back, "program").accessed, -1500000000);
	vfs_close(back);
}

static void an_agentfs_file_is_taken_in(void **state)
{
	static const char schema[] =
		"CREATE TABLE fs_config(key TEXT PRIMARY KEY, value TEXT);"
		"INSERT INTO fs_config VALUES('chunk_size', '4');"
		"CREATE TABLE fs_inode(ino INTEGER PRIMARY KEY, mode INTEGER,"
		" nlink INTEGER, uid INTEGER, gid INTEGER, size INTEGER,"
		" atime INTEGER, mtime INTEGER, ctime INTEGER);"
		"CREATE TABLE fs_dentry(id INTEGER PRIMARY KEY, name TEXT,"
		" parent_ino INTEGER, ino INTEGER);"
		"CREATE TABLE fs_data(ino INTEGER, chunk_index INTEGER,"
		" data BLOB, PRIMARY KEY(ino, chunk_index));"
		"CREATE TABLE fs_symlink(ino INTEGER PRIMARY KEY, target TEXT);"
		"INSERT INTO fs_inode VALUES(1, 16877, 2, 0, 0, 0, 5, 6, 7),"
		"(2, 16877, 2, 0, 0, 0, 5, 6, 7),"
		"(3, 33188, 2, 1, 2, 10, 5, 6, 7),(4, 41471, 1, 0, 0, 1, 5, 6,"
		" 7);"
		"INSERT INTO fs_dentry VALUES(1, 'd', 1, 2),(2, 'f', 2, 3),"
		"(3, 'again', 1, 3),(4, 'l', 1, 4);"
		"INSERT INTO fs_data VALUES(3, 0, x'61626364'),"
		"(3, 1, x'65666768'),(3, 2, x'696a');"
		"INSERT INTO fs_symlink VALUES(4, 'd');";
	struct vfs *back = open_back();
	struct vfs_transfer p = {.path = "taken", .keep_setuid = true};
	struct sql *db;
	struct err e;

	(void)state;
	assert_ok(
		sql_open(&db, temp_join(&t.dir, "a.db"), NULL, SQL_CREATE, &e),
		&e);
	assert_ok(sql_script(db, schema, &e), &e);
	sql_close(db);
	assert_ok(vfs_import_agentfs(back, temp_join(&t.dir, "a.db"), &p, &e),
		  &e);
	expect(back, "taken/d/f", "abcdefghij");
	assert_int_equal(stat_of(back, "taken/again").ino,
			 stat_of(back, "taken/d/f").ino);
	assert_int_equal(stat_of(back, "taken/d/f").uid, 1);
	assert_int_equal(stat_of(back, "taken/d/f").modified,
			 INT64_C(6000000000));
	expect(back, "taken/l/f", "abcdefghij");
	vfs_close(back);
}

static void a_broken_archive_is_refused(void **state)
{
	struct vfs_transfer p = {.keep_setuid = true};
	char junk[2000];
	int ends[2];
	struct err e;

	(void)state;
	for (size_t i = 0; i < sizeof junk; i++)
		junk[i] = (char)(i * 7 + 1);
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], junk, sizeof junk), sizeof junk);
	close(ends[1]);
	assert_int_equal(vfs_import_tar(t.v, ends[0], &p, &e), -1);
	assert_int_equal(e.code, ERR_INVALID);
	close(ends[0]);
	expect(t.v, "dir/file", "text");
}

/* user::rwx user:1234:rwx group::r-x mask::rwx other::--- */
#define DEFAULT_ACL                                          \
	"\2\0\0\0\1\0\7\0\377\377\377\377\2\0\7\0\322\4\0\0" \
	"\4\0\5\0\377\377\377\377\20\0\7\0\377\377\377\377"  \
	"\40\0\0\0\377\377\377\377"

static void an_exported_file_inherits_no_acl(void **state)
{
	const char *name = "system.posix_acl_default";
	struct blob acl = {DEFAULT_ACL, sizeof DEFAULT_ACL - 1};
	const char *out = temp_join(&t.dir, "out");
	struct vfs_transfer p = {.path = ""};
	struct vfs_attr a = stat_of(t.v, "dir");
	char room[100];
	struct err e;

	(void)state;
	if (setxattr(t.dir.path, name, acl.p, acl.n, 0) ||
	    removexattr(t.dir.path, name))
		skip(); /* no ACLs here */
	assert_ok(vfs_setxattr(t.v, a.ino, name, acl, 0, &e), &e);
	assert_ok(vfs_export_dir(t.v, out, &p, &e), &e);
	assert_int_equal(
		getxattr(temp_join(&t.dir, "out/dir"), name, room, sizeof room),
		acl.n);
	assert_int_equal(getxattr(temp_join(&t.dir, "out/dir/file"),
				  "system.posix_acl_access", room, sizeof room),
			 -1);
}

#define T(name)                                                    \
	cmocka_unit_test_setup_teardown(name, set_up_vfs_transfer, \
					tear_down_vfs_transfer)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_tree_goes_to_a_directory_and_back),
		T(a_tree_goes_through_a_pipe_as_tar),
		T(a_tree_goes_to_sqlar_and_back),
		T(a_tree_goes_to_agentfs_and_back),
		T(a_part_of_a_tree_becomes_an_agentfs_root),
		T(what_is_no_agentfs_file_is_refused_untouched),
		T(times_before_1970_go_out_and_come_back),
		T(an_agentfs_file_is_taken_in),
		T(a_broken_archive_is_refused),
		T(an_exported_file_inherits_no_acl),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
