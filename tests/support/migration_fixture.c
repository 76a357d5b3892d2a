#include "tests/support/migration_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const struct db_migration migrations[] = {
	{"0001_init",
	 "CREATE TABLE parent (id INTEGER PRIMARY KEY, name TEXT) STRICT;"
	 "CREATE TABLE child (id INTEGER PRIMARY KEY, parent INTEGER NOT NULL"
	 " REFERENCES parent (id) ON DELETE CASCADE, body TEXT) STRICT;"
	 "INSERT INTO parent (id, name) WITH RECURSIVE n(i) AS (SELECT 1 UNION"
	 " ALL SELECT i + 1 FROM n WHERE i < 20) SELECT i, 'p' || i FROM n;"
	 "INSERT INTO child (parent, body) SELECT id, hex(zeroblob(200)) FROM"
	 " parent UNION ALL SELECT id, 'second' FROM parent;",
	 false},
	{"0002_more", "CREATE TABLE extra (x INTEGER PRIMARY KEY) STRICT;",
	 false},
	{"0003_rebuild",
	 "CREATE TABLE parent_new (id INTEGER PRIMARY KEY, name TEXT NOT NULL"
	 " CHECK (length(name) > 0)) STRICT;"
	 "INSERT INTO parent_new SELECT id, name FROM parent;"
	 "DROP TABLE parent;"
	 "ALTER TABLE parent_new RENAME TO parent;",
	 true},
};

static const struct db_column columns[] = {
	{"child", "late", "ALTER TABLE child ADD COLUMN late TEXT"},
};

static const struct sql_set no_queries;

struct db_schema fixture_schema(int version)
{
	return (struct db_schema){
		.kind = "family file",
		.application_id = 0x66616d31,
		.migrations = migrations,
		.version = version,
		.columns = columns,
		.ncolumns = version == FAMILY_NEWEST,
		.queries = &no_queries,
	};
}

static struct sql *open_at_version(const char *path, int version)
{
	struct db_schema s = fixture_schema(version);
	struct sql *db = NULL;
	struct err e = {0};

	if (db_open(&db, path, &s, SQL_CREATE, &e))
		fail_msg("%s", e.text);
	return db;
}

void fixture_make(const char *path)
{
	sql_close(open_at_version(path, 1));
}

static void expect(struct sql *db, const char *query, int64_t want)
{
	struct err e = {0};
	int64_t got = -1;

	if (sql_script_i64(db, query, &got, &e))
		fail_msg("%s", e.text);
	if (got != want)
		fail_msg("%s: %ld instead of %ld", query, (long)got,
			 (long)want);
}

void fixture_check(const char *path, int version)
{
	struct sql *db = open_at_version(path, version);
	struct arena a = {0};
	struct err e = {0};
	const char *whole;

	assert_int_equal(
		sql_script_text(db, "PRAGMA integrity_check", &a, &whole, &e),
		0);
	assert_string_equal(whole, "ok");
	expect(db, "PRAGMA user_version", version);
	expect(db, "SELECT count(*) FROM parent", FAMILY_PARENTS);
	expect(db, "SELECT count(*) FROM child", FAMILY_CHILDREN);
	expect(db, "SELECT count(*) FROM pragma_foreign_key_check", 0);
	expect(db, "PRAGMA foreign_keys", 1);
	expect(db,
	       "SELECT count(*) FROM pragma_table_info('child')"
	       " WHERE name = 'late'",
	       version == FAMILY_NEWEST);
	arena_fini(&a);
	sql_close(db);
}
