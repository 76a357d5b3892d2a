/* An AgentFS file with any values in its rows, or with any bytes changed, is
 * taken in or refused with one sentence; either way fsck finds no fault
 * afterwards, and nothing lies outside of the target.
 *
 * The first byte says which: even, and the rest are changes of bytes; odd, and
 * they are changes of rows, 4 bytes each: column, node, value. */
#include "tests/support/vfs_fuzz.h"

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct sql *db;
static struct vfs *v;
static const char *file;
static uint8_t *good;
static size_t good_n;

static void set_up_good_file(void)
{
	struct vfs_transfer p = {0};
	struct err e;

	if (db_open(&db, fuzz_path("agent"), &agent_schema, SQL_CREATE, &e) ||
	    vfs_create(db, "from", NULL, &e) ||
	    vfs_open(&v, db, "from", "fuzz", &e))
		abort();
	fuzz_fill(v);
	file = fuzz_path("agentfs");
	if (vfs_export_agentfs(v, file, &p, &e))
		abort();
	good = fuzz_read(file, &good_n);
	vfs_close(v);
	if (vfs_create(db, "main", NULL, &e) ||
	    vfs_open(&v, db, "main", "fuzz", &e) ||
	    vfs_set_quota(v, 1 << 24, 1000, &e))
		abort();
}

static const struct {
	const char *set, *where;
} columns[] = {
	{"fs_inode SET mode = ?", "ino"},
	{"fs_inode SET size = ?", "ino"},
	{"fs_inode SET mtime = ?", "ino"},
	{"fs_inode SET mtime_nsec = ?", "ino"},
	{"fs_inode SET uid = ?", "ino"},
	{"fs_inode SET rdev = ?", "ino"},
	{"fs_inode SET size = 'x' || ?", "ino"},
	{"fs_dentry SET parent_ino = ?", "ino"},
	{"fs_dentry SET ino = ?", "id"},
	{"fs_dentry SET name = char(?)", "id"},
	{"fs_dentry SET name = '../' || char(?)", "id"},
	{"fs_data SET chunk_index = ?", "rowid"},
	{"fs_data SET data = zeroblob(? & 65535)", "rowid"},
	{"fs_symlink SET target = zeroblob(? & 65535)", "1 OR ino"},
	{"fs_config SET value = ?", "rowid"},
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
		size_t i = p[0] % (sizeof columns / sizeof *columns);
		int n = (int)strcspn(columns[i].set, "?");
		char set[200];

		snprintf(set, sizeof set,
			 "UPDATE OR IGNORE %.*s(%lld)%s WHERE %s = %d", n,
			 columns[i].set, value_of((uint16_t)(p[2] << 8 | p[3])),
			 columns[i].set + n + 1, columns[i].where, p[1] % 16);
		if (sql_script(to, set, &e))
			abort();
	}
	sql_close(to);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct vfs_transfer p = {.path = "in"};
	struct vfs_check c = {.deep = true};
	struct vfs_dir d;
	struct err e = {0};

	if (!good)
		set_up_good_file();
	fuzz_remove(file);
	if (size > 0 && data[0] % 2)
		change_rows(data + 1, size - 1);
	else if (size > 0)
		fuzz_damage(file, good, good_n, data + 1, size - 1);
	else
		fuzz_damage(file, good, good_n, NULL, 0);
	if (vfs_import_agentfs(v, file, &p, &e)) {
		fuzz_check_error(&e);
		assert(e.code != ERR_INTERNAL);
	}
	assert(!vfs_check(db, &c, &e) && c.found == 0);
	assert(!vfs_readdir(v, VFS_ROOT, &d, &e));
	assert(d.n <= 1);
	vfs_dir_fini(&d);
	vfs_remove(v, "in", true, &e);
	return 0;
}
