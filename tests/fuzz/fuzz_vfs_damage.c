/* An agent file with any bytes changed is read as far as it goes, and says in
 * one sentence what is wrong: nothing crashes, nothing runs for ever, whatever
 * is asked of it. */
#include "tests/support/vfs_fuzz.h"

#include "lib/db/checkpoint.h"
#include "lib/db/sql.h"
#include "schema/agent_queries.h"
#include "vfs/check/check.h"
#include "vfs/core/journal.h"
#include "vfs/core/path.h"
#include "vfs/core/vfs.h"
#include "vfs/core/visit.h"
#include "vfs/search/grep.h"
#include "vfs/snapshot/diff.h"
#include "vfs/snapshot/snapshot.h"
#include "vfs/transfer/transfer.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *file, *out;
static uint8_t *good;
static size_t good_n;

static void set_up_good_file(void)
{
	struct sql_checkpoint_result done;
	struct sql *db;
	struct vfs *v;
	struct err e;

	file = fuzz_path("agent");
	out = fuzz_path("out");
	if (db_open(&db, file, &agent_schema, SQL_CREATE, &e) ||
	    vfs_create(db, "main", NULL, &e) ||
	    vfs_open(&v, db, "main", "fuzz", &e))
		abort();
	fuzz_fill(v);
	if (vfs_snapshot(v, "s", &e) ||
	    vfs_write_file(v, "d/even", (struct blob){"new", 3}, NULL, &e) ||
	    vfs_fork(v, "fork", &e) || vfs_remove(v, "d/e", true, &e))
		abort();
	vfs_close(v);
	if (sql_checkpoint(db, SQL_CHECKPOINT_TRUNCATE, 0, &done, &e))
		abort();
	sql_close(db);
	good = fuzz_read(file, &good_n);
}

static int read_found(void *arg, const struct vfs_found *f, struct err *e)
{
	static char room[VFS_CHUNK];
	struct vfs *v = arg;
	struct buf b = BUF_MAX(1 << 20);
	struct err why;

	(void)e;
	if (S_ISREG(f->attr.mode))
		for (int64_t at = 0; at < f->attr.size && at < 1 << 20;
		     at += VFS_CHUNK)
			if (vfs_pread(v, f->attr.ino, room, sizeof room, at,
				      &why) < 0)
				fuzz_check_error(&why);
	if (S_ISLNK(f->attr.mode) && vfs_readlink(v, f->attr.ino, &b, &why))
		fuzz_check_error(&why);
	buf_clear(&b);
	if (vfs_listxattr(v, f->attr.ino, &b, &why))
		fuzz_check_error(&why);
	buf_fini(&b);
	return 0;
}

static void use(struct vfs *v)
{
	struct vfs_put how = {.parents = true};
	struct vfs_transfer p = {0};
	struct err e;

	if (vfs_visit(v, "", read_found, v, &e))
		fuzz_check_error(&e);
	if (vfs_write_file(v, "d/big", (struct blob){"other", 5}, &how, &e))
		fuzz_check_error(&e);
	if (vfs_move(v, "d", "moved", 0, &e))
		fuzz_check_error(&e);
	if (vfs_rollback_to(v, "s", &e))
		fuzz_check_error(&e);
	if (vfs_export_agentfs(v, out, &p, &e))
		fuzz_check_error(&e);
	fuzz_remove(out);
}

static void open_and_use(struct sql *db, const char *name)
{
	struct vfs *v;
	struct err e;

	if (vfs_open(&v, db, name, "fuzz", &e)) {
		fuzz_check_error(&e);
		return;
	}
	use(v);
	vfs_close(v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct vfs_check c = {.deep = true, .repair = true};
	struct sql *db;
	struct err e = {0};

	if (!good)
		set_up_good_file();
	fuzz_remove(file);
	fuzz_damage(file, good, good_n, data, size);
	if (db_open(&db, file, &agent_schema, 0, &e)) {
		fuzz_check_error(&e);
		return 0;
	}
	open_and_use(db, "main");
	open_and_use(db, "main@s");
	open_and_use(db, "fork");
	if (vfs_check(db, &c, &e))
		fuzz_check_error(&e);
	sql_close(db);
	return 0;
}
