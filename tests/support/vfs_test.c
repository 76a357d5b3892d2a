#include "tests/support/vfs_test.h"

#include "lib/base/buf.h"
#include "lib/base/hash.h"
#include "lib/db/sql.h"
#include "schema/agent_queries.h"
#include "vfs/check/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

struct sql *vfs_test_connect(struct vfs_test *t)
{
	struct sql *db;
	struct err e;

	if (db_open(&db, temp_join(&t->dir, "agent.sqlite"), &agent_schema,
		    SQL_CREATE, &e))
		fail_msg("%s", e.text);
	return db;
}

void assert_ok(int rc, const struct err *e)
{
	if (rc)
		fail_msg("%s", e->text);
}

void vfs_test_begin(struct vfs_test *t)
{
	struct err e;

	temp_make(&t->dir);
	t->db = vfs_test_connect(t);
	if (vfs_create(t->db, "main", NULL, &e) ||
	    vfs_open(&t->v, t->db, "main", "test", &e))
		fail_msg("%s", e.text);
}

/* Every blob is named by exactly the rows that are counted for it. */
static void check_refs(struct sql *db)
{
	static const char named[] =
		"WITH named(b) AS (SELECT blob FROM vfs_inode UNION ALL "
		"SELECT blob FROM vfs_chunk UNION ALL SELECT blob FROM "
		"vfs_undo_inode UNION ALL SELECT blob FROM vfs_undo_chunk "
		"UNION ALL SELECT blob FROM vfs_copied), "
		"refs(b, n) AS (SELECT b, count(*) FROM named WHERE b IS NOT "
		"NULL GROUP BY b) ";
	char q[1024];

	snprintf(q, sizeof q,
		 "%sSELECT count(*) FROM refs LEFT JOIN vfs_blob_refs "
		 "ON blob = b WHERE n <> coalesce(refs, 1)",
		 named);
	assert_int_equal(number(db, q), 0);
	snprintf(q, sizeof q,
		 "%sSELECT count(*) FROM vfs_blob WHERE id NOT IN "
		 "(SELECT b FROM refs)",
		 named);
	assert_int_equal(number(db, q), 0);
	snprintf(q, sizeof q,
		 "%sSELECT count(*) FROM vfs_blob_refs WHERE blob NOT "
		 "IN (SELECT b FROM refs)",
		 named);
	assert_int_equal(number(db, q), 0);
}

static void report_fault(void *arg, const char *what, int64_t count)
{
	(void)arg;
	print_message("fsck: %lld %s\n", (long long)count, what);
}

static void check_sound(struct sql *db)
{
	struct vfs_check c = {.deep = true, .report = report_fault};
	struct err e;

	if (vfs_check(db, &c, &e))
		fail_msg("%s", e.text);
	assert_int_equal(c.found, 0);
}

void vfs_test_end(struct vfs_test *t)
{
	vfs_close(t->v);
	check_refs(t->db);
	check_sound(t->db);
	sql_close(t->db);
	temp_remove(&t->dir);
}

void put(struct vfs *v, const char *path, const char *text)
{
	struct vfs_put how = {.parents = true};
	struct err e;

	if (vfs_write_file(v, path, (struct blob){text, strlen(text)}, &how,
			   &e))
		fail_msg("%s", e.text);
}

void expect(struct vfs *v, const char *path, const char *text)
{
	struct buf b = BUF_MAX(1 << 24);
	struct err e;

	if (vfs_read_file(v, path, &b, NULL, &e))
		fail_msg("%s", e.text);
	assert_string_equal(b.p, text);
	buf_fini(&b);
}

struct vfs_attr stat_of(struct vfs *v, const char *path)
{
	struct vfs_attr a;
	struct err e;

	if (vfs_walk(v, path, VFS_NOFOLLOW, &a, &e))
		fail_msg("%s", e.text);
	return a;
}

void expect_missing(struct vfs *v, const char *path)
{
	struct vfs_attr a;
	struct err e;

	assert_int_equal(vfs_walk(v, path, VFS_NOFOLLOW, &a, &e), -1);
	assert_int_equal(e.code, ERR_NOTFOUND);
}

int64_t number(struct sql *db, const char *query)
{
	int64_t n;
	struct err e;

	if (sql_script_i64(db, query, &n, &e))
		fail_msg("%s", e.text);
	return n;
}

static void show_content(struct vfs *v, const struct vfs_attr *a, struct buf *b)
{
	struct buf text = BUF_MAX(1 << 26);
	char hash[HASH_HEX];
	struct err e;
	ssize_t got = 1;

	if (S_ISLNK(a->mode)) {
		if (vfs_readlink(v, a->ino, b, &e))
			fail_msg("%s", e.text);
	} else if (S_ISREG(a->mode)) {
		while (got > 0) {
			char *room = buf_room(&text, 1 << 16);

			got = vfs_pread(v, a->ino, room, 1 << 16,
					(int64_t)text.n, &e);
			if (got < 0)
				fail_msg("%s", e.text);
			buf_grew(&text, (size_t)got);
		}
		hash_of(text.p, text.n, hash);
		buf_adds(b, hash);
	}
	buf_fini(&text);
}

static void show_attributes(struct vfs *v, int64_t ino, struct buf *b)
{
	struct buf names = BUF_MAX(1 << 20);
	struct err e;

	if (vfs_listxattr(v, ino, &names, &e))
		fail_msg("%s", e.text);
	for (size_t at = 0; at < names.n; at += strlen(names.p + at) + 1) {
		buf_addf(b, "%s=", names.p + at);
		if (vfs_getxattr(v, ino, names.p + at, b, &e))
			fail_msg("%s", e.text);
		buf_addc(b, ' ');
	}
	buf_fini(&names);
}

static void show_node(struct vfs *v, int64_t dir, const char *path,
		      struct buf *b)
{
	struct vfs_dir d;
	struct err e;

	if (vfs_readdir(v, dir, &d, &e))
		fail_msg("%s", e.text);
	for (size_t i = 0; i < d.n; i++) {
		char full[4096];
		struct vfs_attr a;

		snprintf(full, sizeof full, "%s/%s", path, d.entries[i].name);
		if (vfs_getattr(v, d.entries[i].ino, &a, &e))
			fail_msg("%s: %s", full, e.text);
		buf_addf(b, "%s %o %u %u:%u %lld ", full, a.mode, a.nlink,
			 a.uid, a.gid, S_ISDIR(a.mode) ? 0 : (long long)a.size);
		show_content(v, &a, b);
		show_attributes(v, a.ino, b);
		buf_addc(b, '\n');
		if (S_ISDIR(a.mode))
			show_node(v, a.ino, full, b);
	}
	vfs_dir_fini(&d);
}

char *picture(struct vfs *v)
{
	struct buf b = BUF_MAX(1 << 26);

	show_node(v, VFS_ROOT, "", &b);
	return buf_take(&b);
}
