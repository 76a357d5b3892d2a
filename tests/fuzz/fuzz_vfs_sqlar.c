/* A sqlar file with any values in its rows, or with any bytes changed, is taken
 * in or refused with one sentence; either way fsck finds no fault afterwards,
 * nothing lies outside of the target, and the quota holds. What was taken in is
 * what SQLite's own archiver reads from the same rows.
 *
 * The first byte says which: even, and the rest are changes of bytes; odd, and
 * they are changes of rows, 4 bytes each: column, row, value. */
#include "tests/support/vfs_fuzz.h"

#include "lib/base/buf.h"
#include "lib/db/sql.h"
#include "schema/agent_queries.h"
#include "vfs/check/check.h"
#include "vfs/core/path.h"
#include "vfs/core/vfs.h"
#include "vfs/transfer/transfer.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#define QUOTA ((int64_t)1 << 24)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct sql *db;
static struct vfs *v;
static const char *file;
static uint8_t *good;
static size_t good_n;

static void set_up_good_file(void)
{
	struct vfs_transfer p = {.keep_setuid = true};
	struct err e;

	if (db_open(&db, fuzz_path("agent"), &agent_schema, SQL_CREATE, &e) ||
	    vfs_create(db, "from", NULL, &e) ||
	    vfs_open(&v, db, "from", "fuzz", &e))
		abort();
	fuzz_fill(v);
	file = fuzz_path("sqlar");
	if (vfs_export_sqlar(v, file, &p, &e))
		abort();
	good = fuzz_read(file, &good_n);
	vfs_close(v);
	if (vfs_create(db, "main", NULL, &e) ||
	    vfs_open(&v, db, "main", "fuzz", &e) ||
	    vfs_set_quota(v, QUOTA, 1000, &e))
		abort();
}

/* --- changed rows -------------------------------------------------------- */

static const char *const changes[] = {
	"mode = ?",
	"mode = 32768 + (? & 511)",
	"mode = 40960 + (? & 511)",
	"mode = 'x' || ?",
	"mtime = ?",
	"sz = ?",
	"sz = -1",
	"sz = length(data)",
	"sz = 'x' || ?",
	"sz = NULL",
	"data = zeroblob(? & 65535)",
	"data = CAST('text ' || ? AS BLOB)",
	"data = NULL",
	"data = ?",
	"name = char(?)",
	"name = '../' || char(?)",
	"name = 'd/' || (? & 3)",
	"name = '/' || name",
	"name = './' || name",
	"name = name || '/'",
	"name = 'd' || char(0) || ?",
	"name = zeroblob(? & 32767)",
};

/* Small numbers, and with the top bit large ones of both signs. */
static long long value_of(uint16_t n)
{
	return n & 0x8000 ? (long long)((uint64_t)(n & 0x7fff) << 49) : n;
}

static void change_rows(const uint8_t *p, size_t size)
{
	struct sql *to;
	struct err e;

	fuzz_damage(file, good, good_n, NULL, 0);
	if (sql_open(&to, file, NULL, 0, &e))
		abort();
	for (; size >= 4; p += 4, size -= 4) {
		const char *set =
			changes[p[0] % (sizeof changes / sizeof *changes)];
		int n = (int)strcspn(set, "?");
		char text[200], value[32] = "";

		if (set[n])
			snprintf(value, sizeof value, "(%lld)",
				 value_of((uint16_t)(p[2] << 8 | p[3])));
		snprintf(text, sizeof text,
			 "UPDATE OR IGNORE sqlar SET %.*s%s%s WHERE rowid = %d",
			 n, set, value, set[n] ? set + n + 1 : "", p[1] % 8);
		if (sql_script(to, text, &e))
			abort();
	}
	sql_close(to);
}

/* --- what the archiver would make of them -------------------------------- */

#define ROW(F, S)        \
	F(S, blob, name) \
	F(S, i64, mode) F(S, i64, size) F(S, blob, data) F(S, i64, odd)
SHAPE_DECLARE(seen_row, ROW);
SHAPE_DEFINE(seen_row, ROW);

/* odd: a name that is not the path itself, so that two may mean the same. */
static const struct sql_query queries[] = {
	{.name = "seen",
	 .text = "SELECT CAST(name AS BLOB), CAST(mode AS INTEGER), CAST(sz AS "
		 "INTEGER), CAST(data AS BLOB), name IS NULL OR "
		 "typeof(name) <> 'text' OR '/' || name || '/' LIKE '%/./%' OR "
		 "'/' || name || '/' LIKE '%//%' FROM sqlar",
	 .out = &seen_row_shape},
};
static const struct sql_set set = {queries, 1};

/* As sqlar_uncompress does it; false: it says that the row is damaged. */
static bool unpack(const struct seen_row *row, struct buf *out)
{
	uLongf n = (uLongf)row->size;
	char *plain;
	bool good_row;

	if (row->size <= 0 || row->size == (int64_t)row->data.n) {
		buf_add(out, row->data.p, row->data.n);
		return true;
	}
	if (row->size > QUOTA)
		return false;
	plain = malloc(n);
	if (!plain)
		abort();
	good_row = uncompress((Bytef *)plain, &n, row->data.p, row->data.n) ==
			   Z_OK &&
		   n == (uLongf)row->size;
	if (good_row)
		buf_add(out, plain, n);
	free(plain);
	return good_row;
}

static void compare_row(const struct seen_row *row)
{
	struct buf want = BUF_MAX(QUOTA + 1), have = BUF_MAX(QUOTA + 1);
	char path[20000];
	struct vfs_attr a;
	struct err e;

	assert(row->name.n < sizeof path - 3);
	snprintf(path, sizeof path, "in/%.*s", (int)row->name.n,
		 (const char *)row->name.p);
	if (S_ISREG(row->mode)) {
		assert(!row->data.p || unpack(row, &want));
		assert(!vfs_walk(v, path, VFS_NOFOLLOW, &a, &e));
		assert(S_ISREG(a.mode) && !((a.mode ^ row->mode) & 07777));
		assert(!vfs_read_file(v, path, &have, NULL, &e));
		assert(have.n == want.n);
		assert(!have.n || !memcmp(have.p, want.p, want.n));
	} else if (S_ISDIR(row->mode)) {
		assert(!vfs_walk(v, path, VFS_NOFOLLOW, &a, &e));
		assert(S_ISDIR(a.mode));
	} else if (S_ISLNK(row->mode)) {
		assert(!vfs_walk(v, path, VFS_NOFOLLOW, &a, &e));
		assert(unpack(row, &want) && S_ISLNK(a.mode));
		assert(a.size == (int64_t)want.n);
	}
	buf_fini(&want);
	buf_fini(&have);
}

static void each_row(bool (*want)(const struct seen_row *),
		     void (*then)(const struct seen_row *), bool *any)
{
	struct seen_row row;
	struct sql *from;
	struct sql_rows it;
	struct err e;

	if (sql_open(&from, file, &set, SQL_READONLY, &e))
		return;
	it = sql_rows(from, 0, NULL);
	while (sql_next(&it, &row)) {
		*any = *any || want(&row);
		if (then)
			then(&row);
	}
	(void)sql_end(&it, &e);
	sql_close(from);
}

static bool is_odd(const struct seen_row *row)
{
	return row->odd || memchr(row->name.p, 0, row->name.n);
}

static bool has_zero(const struct seen_row *row)
{
	return row->name.n && memchr(row->name.p, 0, row->name.n);
}

/* --- the property -------------------------------------------------------- */

static void check_taken(const struct vfs_transfer *p)
{
	bool odd = false, zero = false;

	assert(p->bytes <= QUOTA && p->nodes <= 1000);
	each_row(has_zero, NULL, &zero);
	assert(!zero);
	each_row(is_odd, NULL, &odd);
	if (!odd)
		each_row(is_odd, compare_row, &odd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct vfs_transfer p = {.path = "in", .keep_setuid = true};
	struct vfs_check c = {.deep = true};
	bool bytes = size > 0 && data[0] % 2 == 0;
	struct vfs_dir d;
	struct err e = {0};

	if (!good)
		set_up_good_file();
	fuzz_remove(file);
	if (size > 0 && !bytes)
		change_rows(data + 1, size - 1);
	else
		fuzz_damage(file, good, good_n, bytes ? data + 1 : NULL,
			    bytes ? size - 1 : 0);
	if (vfs_import_sqlar(v, file, &p, &e)) {
		fuzz_check_error(&e);
		assert(e.code != ERR_INTERNAL);
	} else {
		check_taken(&p);
	}
	assert(!vfs_check(db, &c, &e) && c.found == 0);
	assert(!vfs_readdir(v, VFS_ROOT, &d, &e));
	assert(d.n <= 1);
	vfs_dir_fini(&d);
	vfs_remove(v, "in", true, &e);
	return 0;
}
