#include "tests/support/vfs_test.h"

#include "lib/db/sql.h"
#include "schema/agent_queries.h"
#include "vfs/check/check.h"
#include "vfs/core/visit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct vfs_test t;

static void link_to(int64_t ino, const char *name)
{
	struct vfs_attr attr;
	struct err e;

	assert_ok(
		vfs_link(t.v, ino, (struct vfs_at){VFS_ROOT, name}, &attr, &e),
		&e);
}

/* A tree with something of every kind, a snapshot and a fork. */
static void make_all(void)
{
	char big[150000];
	struct vfs_attr a;
	struct vfs *twin;
	struct err e;

	memset(big, 'x', sizeof big);
	put(t.v, "d/e/f", "text");
	put(t.v, "d/g", "more");
	assert_ok(vfs_write_file(t.v, "big", (struct blob){big, sizeof big},
				 NULL, &e),
		  &e);
	a = stat_of(t.v, "d/g");
	assert_ok(vfs_setxattr(t.v, a.ino, "user.x", (struct blob){"1", 1}, 0,
			       &e),
		  &e);
	link_to(a.ino, "second");
	put(t.v, "moved", "by a link"); /* its node keeps the old name */
	link_to(stat_of(t.v, "moved").ino, "there");
	assert_ok(vfs_remove(t.v, "moved", false, &e), &e);
	assert_ok(vfs_snapshot(t.v, "s", &e), &e);
	put(t.v, "d/g", "changed");
	assert_ok(vfs_write_file(t.v, "big", (struct blob){big, 10}, NULL, &e),
		  &e);
	assert_ok(vfs_fork(t.v, "twin", &e), &e);
	assert_ok(vfs_open(&twin, t.db, "twin", "test", &e), &e);
	free(picture(twin)); /* reads all of it */
	vfs_close(twin);
	assert_ok(vfs_fork(t.v, "unread", &e), &e);
	assert_ok(vfs_set_quota(t.v, 10000000, 0, &e), &e);
}

static int set_up_vfs_check(void **state)
{
	(void)state;
	vfs_test_begin(&t);
	make_all();
	return 0;
}

static int tear_down_vfs_check(void **state)
{
	(void)state;
	vfs_test_end(&t);
	return 0;
}

static int64_t damage(bool repair)
{
	struct vfs_check c = {.repair = repair, .deep = true};
	struct err e;

	assert_ok(vfs_check(t.db, &c, &e), &e);
	return c.found;
}

static void a_sound_file_has_no_damage(void **state)
{
	(void)state;
	assert_int_equal(damage(false), 0);
}

/* Each breaks one invariant. Node 2 is d, 3 is d/e, 4 is d/e/f. */
static const char *const plants[] = {
	"DELETE FROM vfs_inode WHERE id & 1099511627775 = 1",
	"DELETE FROM vfs_inode WHERE id & 1099511627775 = 4",
	"DELETE FROM vfs_inode WHERE id & 1099511627775 = 3",
	"UPDATE vfs_dentry SET type = 4 WHERE name = x'66'",
	"INSERT INTO vfs_chunk VALUES (99, 1, 1)",
	"INSERT INTO vfs_xattr VALUES (99, x'61', x'61')",
	"UPDATE vfs_inode SET flags = 0",
	"DELETE FROM vfs_snap WHERE name = 's'",
	"UPDATE vfs_ns SET snap = 77",
	"INSERT INTO vfs_snap (ns, name, next_ino, hidden, made_at) "
	"VALUES (55, 'x', 1, 0, 1)",
	"UPDATE vfs_inode SET blob = 9999 WHERE blob IS NOT NULL",
	"UPDATE vfs_undo_chunk SET blob = 9999",
	"UPDATE vfs_undo_inode SET blob = 9999 WHERE blob IS NOT NULL",
	"INSERT INTO vfs_chunk SELECT id, 1, 9999 FROM vfs_inode LIMIT 2",
	"DELETE FROM vfs_dentry WHERE name = x'66'",
	"DELETE FROM vfs_dentry WHERE name = x'64'",
	/* names of files, where the number of all names stays the same: f, and
	 * the two names of g, and the name that its node does not know */
	"UPDATE vfs_dentry SET ino = 4 WHERE name = CAST('second' AS BLOB)",
	"UPDATE vfs_dentry SET ino = 4 WHERE name = CAST('there' AS BLOB)",
	("UPDATE vfs_dentry SET ino = (SELECT ino FROM vfs_dentry WHERE name "
	 "= CAST('there' AS BLOB)) WHERE name = x'66'"),
	("UPDATE vfs_dentry SET ino = (SELECT ino FROM vfs_dentry WHERE name "
	 "= x'67') WHERE name = x'66'"),
	"UPDATE vfs_inode SET nlink = CASE nlink WHEN 1 THEN 2 ELSE 1 END "
	"WHERE (mode & 61440) = 32768 AND name IN (x'66', x'67')",
	"INSERT INTO vfs_dentry (dir, name, ino, type) SELECT dir, x'78', ino, "
	"8 FROM vfs_dentry WHERE name = x'66'",
	"INSERT INTO vfs_dentry (dir, name, ino, type) SELECT dir, x'78', ino, "
	"8 FROM vfs_dentry WHERE name = CAST('there' AS BLOB)",
	"INSERT INTO vfs_dentry (dir, name, ino, type) SELECT dir, x'78', ino, "
	"8 FROM vfs_dentry WHERE name = CAST('second' AS BLOB)",
	"INSERT INTO vfs_dentry (dir, name, ino, type) SELECT dir, "
	"CAST('moved' AS BLOB), ino, 8 FROM vfs_dentry WHERE name = "
	"CAST('there' AS BLOB)",
	("UPDATE vfs_dentry SET dir = (dir & ~1099511627775) | 3 WHERE name = "
	 "x'64'"),
	"UPDATE vfs_inode SET parent = 1 WHERE id & 1099511627775 = 3",
	"UPDATE vfs_inode SET nlink = 7",
	"UPDATE vfs_inode SET nlink = 0 WHERE id & 1099511627775 = 4",
	("UPDATE vfs_inode SET nlink = 0 WHERE id & 1099511627775 = 4;"
	 "DELETE FROM vfs_dentry WHERE name = x'66'"),
	"INSERT INTO vfs_orphan VALUES (1099511627700, 1, 1)",
	"UPDATE vfs_blob_refs SET refs = refs + 1",
	"DELETE FROM vfs_blob_refs",
	"INSERT INTO vfs_blob_refs SELECT id, 3 FROM vfs_blob WHERE true ON "
	"CONFLICT DO NOTHING",
	"INSERT INTO vfs_blob (data) VALUES (x'00')",
	"DELETE FROM vfs_blob",
	"UPDATE vfs_blob SET raw = 65536, data = x'ff00ff00'",
	"UPDATE vfs_ns SET used_bytes = 1, used_files = 1",
	"DELETE FROM vfs_ns WHERE name = 'twin'",
	"UPDATE vfs_inode SET size = -5 WHERE name = x'67'",
	"UPDATE vfs_inode SET size = 3 WHERE name = x'67'",
	"INSERT INTO vfs_chunk SELECT id, 5, blob FROM vfs_inode WHERE name = "
	"x'67'",
	"UPDATE vfs_inode SET lower_size = 5 WHERE name = x'67'",
	"UPDATE vfs_inode SET name = x'79' WHERE id & 1099511627775 = 3",
	"UPDATE vfs_inode SET mode = 0 WHERE name = x'67'",
	"UPDATE vfs_dentry SET name = x'' WHERE name = x'67'",
	"UPDATE vfs_dentry SET name = x'2e2e' WHERE name = x'67'",
	"UPDATE vfs_dentry SET name = x'612f62' WHERE name = x'67'",
	"UPDATE vfs_dentry SET name = x'610062' WHERE name = x'67'",
	"UPDATE vfs_dentry SET name = zeroblob(300) WHERE name = x'67'",
	"UPDATE vfs_inode SET mode = 41471, size = 4, blob = NULL WHERE name = "
	"x'67'",
	/* a directory within itself */
	"INSERT INTO vfs_dentry (dir, name, ino, type) SELECT dir & "
	"~1099511627775 | ino, x'78', ino, 4 FROM vfs_dentry WHERE name = "
	"x'64'",
};

static void every_planted_damage_is_found_and_mended(void **state)
{
	struct err e;

	(void)state;
	for (size_t i = 0; i < sizeof plants / sizeof plants[0]; i++) {
		char *shown;

		vfs_test_end(&t);
		vfs_test_begin(&t);
		make_all();
		assert_ok(sql_script(t.db, plants[i], &e), &e);
		if (damage(false) == 0)
			fail_msg("not found: %s", plants[i]);
		damage(true);
		if (damage(false) != 0)
			fail_msg("not repaired: %s", plants[i]);
		shown = picture(t.v); /* everything can be read again */
		free(shown);
	}
}

static int64_t find_row(unsigned query)
{
	struct vfs_number n = {0};
	struct err e;

	assert_ok(sql_get(t.db, query, NULL, &n, NULL, &e) < 0, &e);
	return n.n;
}

#define ALONE(find)    find
#define INODES(find)   Q_VFS_FIND_IN_INODES
#define NAMES(find)    Q_VFS_FIND_IN_NAMES
#define TREE(find)     Q_VFS_FIND_IN_TREE
#define CONTENTS(find) Q_VFS_FIND_IN_CONTENTS

static const struct {
	unsigned find, group;
	const char *words;
} checks[] = {
#define CHECK(name, group, how, words) \
	{Q_VFS_FIND_##name, group(Q_VFS_FIND_##name), words},
#include "vfs/check/check.def"
#undef CHECK
};

/* The first check that finds something decides: those after it are not skipped. */
static void is_not_skipped(const char *one, const char *other)
{
	struct err e;
	size_t k = 0;

	assert_ok(sql_script(t.db, "BEGIN", &e), &e);
	/* what the second one breaks may be gone */
	(void)(sql_script(t.db, one, &e) || sql_script(t.db, other, &e));
	while (k < sizeof checks / sizeof checks[0] &&
	       find_row(checks[k].find) == 0)
		k++;
	if (k < sizeof checks / sizeof checks[0] &&
	    find_row(checks[k].group) == 0)
		fail_msg("%s is skipped: %s; %s", checks[k].words, one, other);
	assert_ok(sql_script(t.db, "ROLLBACK", &e), &e);
}

/* Also of two damages, one of which may hide the other from a sum. */
static void no_check_that_finds_something_is_skipped(void **state)
{
	size_t n = sizeof plants / sizeof plants[0];

	(void)state;
	for (size_t i = 0; i < n; i++)
		for (size_t j = i; j < n; j++)
			is_not_skipped(plants[i], plants[j]);
}

static void no_group_of_a_sound_file_needs_a_second_look(void **state)
{
	(void)state;
	for (size_t k = 0; k < sizeof checks / sizeof checks[0]; k++)
		if (find_row(checks[k].group) != 0)
			fail_msg("%s", checks[k].words);
}

static int go_on(void *arg, const struct vfs_found *f, struct err *e)
{
	(void)arg;
	(void)f;
	(void)e;
	return 0;
}

/* With two such names, a walk that believed them would never end. */
static void a_directory_within_itself_is_told_not_followed(void **state)
{
	struct err e;

	(void)state;
	assert_ok(
		sql_script(t.db,
			   "WITH d AS (SELECT dir & ~1099511627775 | ino AS d, "
			   "ino "
			   "FROM vfs_dentry WHERE name = x'64') INSERT INTO "
			   "vfs_dentry (dir, name, ino, type) SELECT d, x'41', "
			   "ino, "
			   "4 FROM d UNION ALL SELECT d, x'42', ino, 4 FROM d",
			   &e),
		&e);
	assert_int_equal(vfs_visit(t.v, "", go_on, NULL, &e), -1);
	assert_int_equal(e.code, ERR_CORRUPT);
	assert_int_equal(vfs_remove(t.v, "d", true, &e), -1);
	assert_int_equal(e.code, ERR_CORRUPT);
	damage(true);
	assert_int_equal(damage(false), 0);
	assert_ok(vfs_visit(t.v, "", go_on, NULL, &e), &e);
	assert_ok(vfs_remove(t.v, "d", true, &e), &e);
}

static void a_node_without_a_name_is_found_again(void **state)
{
	struct err e;

	(void)state;
	assert_ok(sql_script(t.db, "DELETE FROM vfs_dentry WHERE name = x'65'",
			     &e),
		  &e);
	damage(true);
	expect(t.v, "lost+found/3/f", "text");
}

static void compacting_joins_equal_contents(void **state)
{
	struct vfs_compact c = {0};
	char big[60000];
	char *before, *after;
	struct err e;

	(void)state;
	for (size_t i = 0; i < sizeof big; i++)
		big[i] = (char)((i * i) >> 7);
	for (int i = 0; i < 20; i++) {
		char name[32];

		snprintf(name, sizeof name, "copy%d", i);
		assert_ok(vfs_write_file(t.v, name,
					 (struct blob){big, sizeof big}, NULL,
					 &e),
			  &e);
	}
	before = picture(t.v);
	assert_ok(vfs_compact(t.db, &c, &e), &e);
	assert_true(c.joined >= 19);
	assert_true(c.after < c.before);
	after = picture(t.v);
	assert_string_equal(after, before);
	assert_int_equal(damage(false), 0);
	put(t.v, "copy3", "of its own");
	expect(t.v, "copy3", "of its own");
	free(before);
	free(after);
}

/* Every content several times: short ones, more than a batch has, and long ones
 * that can be compressed. */
static void compacting_keeps_each_content_once(void **state)
{
	enum { FILES = 2600, KINDS = 1300, LONGS = 200 };
	struct vfs_compact c = {0};
	char *before, *after;
	struct err e;

	(void)state;
	assert_ok(vfs_compact(t.db, &c, &e), &e);
	assert_ok(vfs_begin(t.v, &e), &e);
	for (int i = 0; i < FILES; i++) {
		char name[32], text[2000] = "";
		int kind = i * 7 % KINDS;
		size_t n = kind < LONGS ? sizeof text : 8;

		for (size_t at = 0; at + 8 <= n; at += 8)
			snprintf(text + at, sizeof text - at, "%07d",
				 kind * 1000 + (int)(at * at % 271));
		snprintf(name, sizeof name, "file%d", i);
		assert_ok(vfs_write_file(t.v, name, (struct blob){text, n},
					 NULL, &e),
			  &e);
	}
	assert_ok(vfs_commit(t.v, &e), &e);
	before = picture(t.v);
	assert_ok(vfs_compact(t.db, &c, &e), &e);
	assert_int_equal(c.joined, FILES - KINDS);
	assert_true(c.compressed >= LONGS);
	after = picture(t.v);
	assert_string_equal(after, before);
	assert_int_equal(damage(false), 0);
	assert_ok(vfs_compact(t.db, &c, &e), &e);
	assert_int_equal(c.joined, 0);
	assert_int_equal(c.compressed, 0);
	free(before);
	free(after);
}

#define T(name)                                                 \
	cmocka_unit_test_setup_teardown(name, set_up_vfs_check, \
					tear_down_vfs_check)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_sound_file_has_no_damage),
		T(every_planted_damage_is_found_and_mended),
		T(no_check_that_finds_something_is_skipped),
		T(no_group_of_a_sound_file_needs_a_second_look),
		T(a_directory_within_itself_is_told_not_followed),
		T(a_node_without_a_name_is_found_again),
		T(compacting_joins_equal_contents),
		T(compacting_keeps_each_content_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
