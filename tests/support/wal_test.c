#include "tests/support/wal_test.h"

#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct temp wal_dir;
const char *wal_path;
struct sql *wal_ours;
sqlite3 *wal_other;

static struct err e;

void wal_script(struct sql *db, const char *text)
{
	if (sql_script(db, text, &e))
		fail_msg("%s: %s", text, e.text);
}

void wal_send(const char *text)
{
	if (sqlite3_exec(wal_other, text, NULL, NULL, NULL))
		fail_msg("%s: %s", text, sqlite3_errmsg(wal_other));
}

int64_t wal_ask(sqlite3 *db, const char *text)
{
	sqlite3_stmt *st = NULL;
	int64_t v;

	if (sqlite3_prepare_v2(db, text, -1, &st, NULL) ||
	    sqlite3_step(st) != SQLITE_ROW)
		fail_msg("%s: %s", text, sqlite3_errmsg(db));
	v = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return v;
}

int wal_begin(void **state)
{
	struct sql_checkpoint_result r;

	(void)state;
	temp_make(&wal_dir);
	wal_path = strdup(temp_join(&wal_dir, "t.sqlite"));
	if (sql_open(&wal_ours, wal_path, NULL, SQL_CREATE, &e))
		fail_msg("%s", e.text);
	wal_script(wal_ours,
		   "CREATE TABLE x(i INTEGER PRIMARY KEY, v BLOB);"
		   "CREATE TABLE y(i INTEGER PRIMARY KEY);"
		   "INSERT INTO x WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL "
		   "SELECT n + 1 FROM c WHERE n < 400) "
		   "SELECT n, zeroblob(3500) FROM c");
	assert_int_equal(
		sql_checkpoint(wal_ours, SQL_CHECKPOINT_TRUNCATE, 0, &r, &e),
		0);
	assert_int_equal(sqlite3_open_v2(wal_path, &wal_other,
					 SQLITE_OPEN_READWRITE, "unix"),
			 SQLITE_OK);
	wal_send("PRAGMA wal_autocheckpoint=0; PRAGMA busy_timeout=5000");
	assert_int_equal(wal_ask(wal_other, "SELECT count(*) FROM x"),
			 FRAMES_MAX);
	return 0;
}

int wal_end(void **state)
{
	(void)state;
	sqlite3_close(wal_other);
	sql_close(wal_ours);
	free((void *)(uintptr_t)wal_path);
	temp_remove(&wal_dir);
	return 0;
}

void wal_change_rows(struct sql *db, int rows)
{
	char text[128];

	snprintf(text, sizeof text,
		 "UPDATE x SET v = randomblob(3500) WHERE i <= %d", rows);
	wal_script(db, text);
}

void wal_enter(struct sql *db, bool full)
{
	assert_int_equal(full ? sql_enter(db, &e) : sql_enter_relaxed(db, &e),
			 0);
}

void wal_leave(struct sql *db, bool keep)
{
	assert_int_equal(sql_leave(db, keep ? 0 : -1, &e), keep ? 0 : -1);
}

sqlite3 *wal_crash(void)
{
	char line[PATH_MAX], copy[PATH_MAX];
	sqlite3 *db;

	snprintf(copy, sizeof copy, "%s/copy.sqlite", wal_dir.path);
	snprintf(line, sizeof line,
		 "cd %s && rm -f copy.* && cp t.sqlite copy.sqlite && "
		 "cp t.sqlite-wal copy.sqlite-wal",
		 wal_dir.path);
	assert_int_equal(system(line), 0); /* NOLINT(cert-env33-c) */
	assert_int_equal(
		sqlite3_open_v2(copy, &db, SQLITE_OPEN_READWRITE, "unix"),
		SQLITE_OK);
	assert_int_equal(wal_ask(db, "SELECT integrity_check = 'ok' FROM "
				     "pragma_integrity_check"),
			 1);
	return db;
}
