/* Commits through db/wal_vfs.c, watched by a connection that knows nothing of
 * it: after each transaction both see the same, whatever its size and end. */
#include "tests/support/temp.h"

#include "db/sql.h"

#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static struct temp dir;

static int64_t plain_i64(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *st = NULL;
	int64_t v;

	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(st), SQLITE_ROW);
	v = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return v;
}

__attribute__((format(printf, 2, 3))) static void script(struct sql *db,
							 const char *fmt, ...)
{
	char text[512];
	struct err e = {0};
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	if (sql_script(db, text, &e))
		fail_msg("%s", e.text);
}

static void assert_same(struct sql *ours, sqlite3 *plain)
{
	static const char sum[] =
		"SELECT coalesce(sum(k * 31 + length(v) + v2), 0) FROM t";
	struct err e = {0};
	int64_t here = 0;

	assert_int_equal(sql_script_i64(ours, sum, &here, &e), 0);
	assert_int_equal(plain_i64(plain, sum), here);
}

/* One random transaction: small or larger than what is gathered and than the
 * cache, committed or rolled back, with savepoints in it. */
static void transact(struct sql *db, unsigned *seed)
{
	int rows = rand_r(seed) % 4 ? rand_r(seed) % 5 + 1
				    : rand_r(seed) % 300 + 1;
	int big = rand_r(seed) % 6 == 0 ? 20000 : 300;
	struct err e = {0};

	assert_int_equal(sql_enter(db, &e), 0);
	for (int i = 0; i < rows; i++) {
		int k = rand_r(seed) % 400;

		if (i % 7 == 3)
			script(db, "SAVEPOINT s");
		script(db,
		       "INSERT INTO t VALUES (%d, zeroblob(%d), %d) ON "
		       "CONFLICT "
		       "DO UPDATE SET v = excluded.v, v2 = excluded.v2",
		       k, rand_r(seed) % big, rand_r(seed) % 1000);
		if (i % 7 == 3)
			script(db, "%sRELEASE s",
			       rand_r(seed) % 2 ? "ROLLBACK TO s;" : "");
	}
	sql_leave(db, rand_r(seed) % 5 ? 0 : -1, &e);
}

static void a_plain_connection_sees_every_commit_whole(void **state)
{
	const char *path = temp_join(&dir, "t.sqlite");
	struct sql_checkpoint_result done;
	struct err e = {0};
	struct sql *ours;
	sqlite3 *plain;
	unsigned seed = 7;

	(void)state;
	assert_int_equal(sql_open(&ours, path, NULL, SQL_CREATE, &e), 0);
	script(ours, "PRAGMA cache_size=20; CREATE TABLE t "
		     "(k INTEGER PRIMARY KEY, v BLOB, v2 INTEGER)");
	assert_int_equal(
		sqlite3_open_v2(path, &plain, SQLITE_OPEN_READWRITE, "unix"),
		SQLITE_OK);
	for (int i = 0; i < 400; i++) {
		transact(ours, &seed);
		assert_same(ours, plain);
		if (i % 50 == 49)
			assert_int_equal(
				sql_checkpoint(
					ours, (enum sql_checkpoint)(i / 50 % 4),
					&done, &e),
				0);
		if (i % 40 == 39) /* and we see theirs */
			assert_int_equal(
				sqlite3_exec(plain,
					     "DELETE FROM t WHERE k % 3 = 0",
					     NULL, NULL, NULL),
				SQLITE_OK);
		assert_same(ours, plain);
	}
	assert_int_equal(plain_i64(plain, "SELECT count(*) FROM "
					  "pragma_integrity_check WHERE "
					  "integrity_check <> 'ok'"),
			 0);
	assert_true(plain_i64(plain, "SELECT count(*) FROM t") > 100);
	sqlite3_close(plain);
	sql_close(ours);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_plain_connection_sees_every_commit_whole),
	};
	int bad;

	temp_make(&dir);
	bad = cmocka_run_group_tests(tests, NULL, NULL);
	temp_remove(&dir);
	return bad;
}
