/* Files of every released version reach the schema of this program, and that of
 * a made-up next version, with all their rows. */
#include "lib/base/buf.h"
#include "lib/base/hash.h"
#include "lib/os/file.h"
#include "schema/agent_queries.h"
#include "schema/control_queries.h"
#include "tests/support/temp.h"

#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define INTERRUPTED 9

static const struct release {
	const char *fixture;
	const struct db_schema *schema;
	int version;
} releases[] = {
	{"agent-v1.sql", &agent_schema, 1},
	{"control-v1.sql", &control_schema, 1},
};

static struct temp dir;
static const char *path;

static int set_up(void **state)
{
	static char file[4096];

	(void)state;
	temp_make(&dir);
	snprintf(file, sizeof file, "%s", temp_join(&dir, "old.sqlite"));
	path = file;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	temp_remove(&dir);
	return 0;
}

/* A file as a program of that version left it. */
static void make_released(const struct release *r)
{
	struct buf text = BUF_MAX(16u << 20);
	char from[4096];
	sqlite3 *db;
	struct err e;
	char *why = NULL;

	unlink(path);
	snprintf(from, sizeof from, "%s/%s", FIXTURES, r->fixture);
	if (file_read(from, &text, &e))
		fail_msg("%s", e.text);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	sqlite3_exec(db, "PRAGMA auto_vacuum=INCREMENTAL", NULL, NULL, NULL);
	if (sqlite3_exec(db, text.p, NULL, NULL, &why))
		fail_msg("%s: %s", r->fixture, why);
	sqlite3_close(db);
	buf_fini(&text);
	assert_int_equal(db_peek_version(path), r->version);
}

/* The schema of a made-up next version; its migration takes a while. */
static struct db_schema next_version(const struct db_schema *of)
{
	static struct db_migration steps[16];
	struct db_schema next = *of;

	assert_true(of->version < 16);
	memcpy(steps, of->migrations, (size_t)of->version * sizeof *steps);
	steps[next.version++] = (struct db_migration){
		"0000_next",
		"CREATE TABLE next (n INTEGER PRIMARY KEY) STRICT;"
		"INSERT INTO next WITH RECURSIVE c (i) AS (SELECT 1 UNION ALL "
		"SELECT i + 1 FROM c WHERE i < 20000) SELECT i FROM c;",
		false};
	next.migrations = steps;
	return next;
}

static struct sql *open_as(const char *file, const struct db_schema *schema)
{
	struct sql *db = NULL;
	struct err e;

	if (db_open(&db, file, schema, SQL_CREATE, &e))
		fail_msg("%s", e.text);
	return db;
}

static const char *query_text(struct sql *db, const char *query,
			      struct arena *a)
{
	const char *out = NULL;
	struct err e;

	if (sql_script_text(db, query, a, &out, &e))
		fail_msg("%s", e.text);
	return out;
}

/* The tables that have rows, as "name=count\n". */
static void count_rows(struct arena *a, struct buf *out)
{
	char tables[16384], *save = NULL;
	struct sql *db;
	struct err e;

	if (sql_open(&db, path, NULL, 0, &e))
		fail_msg("%s", e.text);
	snprintf(tables, sizeof tables, "%s",
		 query_text(
			 db,
			 "SELECT group_concat(name, ' ') FROM (SELECT name FROM"
			 " sqlite_schema WHERE type = 'table' AND sql NOT LIKE"
			 " 'CREATE VIRTUAL%' ORDER BY name)",
			 a));
	for (char *t = strtok_r(tables, " ", &save); t;
	     t = strtok_r(NULL, " ", &save)) {
		const char *n = query_text(
			db, arena_printf(a, "SELECT count(*) FROM \"%s\"", t),
			a);

		if (strcmp(n, "0") != 0)
			buf_addf(out, "%s=%s\n", t, n);
	}
	sql_close(db);
}

static void expect_rows(const struct buf *before, struct arena *a)
{
	struct buf after = BUF_MAX(65536);
	char *text = arena_printf(a, "%s", before->p), *save = NULL;

	count_rows(a, &after);
	for (char *line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save))
		if (!strstr(after.p, line))
			fail_msg("%s is not in\n%s", line, after.p);
	buf_fini(&after);
}

/* The file, opened with the schema, has what a new file has. */
static void expect_schema(const struct db_schema *schema, struct arena *a)
{
	static const char shape[] =
		"SELECT group_concat(type || ' ' || name || ' ' ||"
		" coalesce(sql, ''), char(10)) FROM (SELECT * FROM"
		" sqlite_schema ORDER BY type, name)";
	const char *new_path = temp_join(&dir, "new.sqlite");
	struct sql *old = open_as(path, schema);
	struct sql *fresh;

	unlink(new_path);
	fresh = open_as(new_path, schema);
	if (strcmp(query_text(old, shape, a), query_text(fresh, shape, a)) != 0)
		fail_msg("a released %s does not become what a new one is. A "
			 "released migration must not change; before the first "
			 "release, run tests/fixtures/make.sh",
			 schema->kind);
	assert_string_equal(query_text(old, "PRAGMA integrity_check", a), "ok");
	assert_string_equal(query_text(old, "PRAGMA user_version", a),
			    query_text(fresh, "PRAGMA user_version", a));
	sql_close(old);
	sql_close(fresh);
}

static void for_each_release(void (*test)(const struct release *r,
					  const struct buf *rows,
					  struct arena *a))
{
	for (size_t i = 0; i < sizeof releases / sizeof releases[0]; i++) {
		struct buf rows = BUF_MAX(65536);
		struct arena a = {0};

		make_released(&releases[i]);
		count_rows(&a, &rows);
		test(&releases[i], &rows, &a);
		buf_fini(&rows);
		arena_fini(&a);
	}
}

/* --- this version ------------------------------------------------------ */

static void reaches_this_version(const struct release *r,
				 const struct buf *rows, struct arena *a)
{
	expect_schema(r->schema, a);
	expect_rows(rows, a);
}

static void a_released_file_reaches_this_version(void **state)
{
	(void)state;
	for_each_release(reaches_this_version);
}

/* --- the next version -------------------------------------------------- */

static struct db_migrating reported;
static int reports;

static void count_report(const struct db_migrating *m)
{
	reported = *m;
	reports++;
}

static void reaches_the_next_version(const struct release *r,
				     const struct buf *rows, struct arena *a)
{
	struct db_schema next = next_version(r->schema);

	sql_close(open_as(path, r->schema));
	reports = 0;
	db_watch_migrations(count_report, 0);
	sql_close(open_as(path, &next));
	db_watch_migrations(NULL, 0);
	assert_true(reports > 0);
	assert_int_equal(reported.version, r->schema->version + 1);
	assert_int_equal(reported.last, r->schema->version + 1);
	assert_string_equal(reported.kind, r->schema->kind);
	expect_schema(&next, a);
	expect_rows(rows, a);
}

static void a_file_reaches_the_next_version_and_reports_it(void **state)
{
	(void)state;
	for_each_release(reaches_the_next_version);
}

static void hash_file(char out[HASH_HEX])
{
	struct buf b = BUF_MAX(16 << 20);
	struct err e;

	if (file_read(path, &b, &e))
		fail_msg("%s", e.text);
	hash_of(b.p, b.n, out);
	buf_fini(&b);
}

static void is_rejected_by_this_version(const struct release *r,
					const struct buf *rows, struct arena *a)
{
	struct db_schema next = next_version(r->schema);
	char before[HASH_HEX], after[HASH_HEX];
	struct sql *db;
	struct err e;

	(void)rows;
	sql_close(open_as(path, &next));
	hash_file(before);
	assert_int_equal(db_open(&db, path, r->schema, SQL_CREATE, &e), -1);
	assert_int_equal(e.code, ERR_VERSION);
	assert_non_null(strstr(
		e.text, arena_printf(a, "schema version %d", next.version)));
	hash_file(after);
	assert_string_equal(before, after);
}

static void a_file_of_the_next_version_is_rejected_untouched(void **state)
{
	(void)state;
	for_each_release(is_rejected_by_this_version);
}

static void exit_now(const struct db_migrating *m)
{
	(void)m;
	_exit(INTERRUPTED);
}

static void starts_over(const struct release *r, const struct buf *rows,
			struct arena *a)
{
	struct db_schema next = next_version(r->schema);
	pid_t pid;
	int status;

	sql_close(open_as(path, r->schema));
	pid = fork();
	if (pid == 0) {
		struct sql *db;
		struct err e;

		db_watch_migrations(exit_now, 0);
		(void)db_open(&db, path, &next, 0, &e);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WEXITSTATUS(status), INTERRUPTED);
	expect_schema(r->schema, a);
	expect_rows(rows, a);
	expect_schema(&next, a);
	expect_rows(rows, a);
}

static void an_interrupted_migration_changes_nothing(void **state)
{
	(void)state;
	for_each_release(starts_over);
}

static void stays_as_it_is(const struct release *r, const struct buf *rows,
			   struct arena *a)
{
	struct db_schema next = next_version(r->schema);
	struct sql *db;
	struct err e;

	sql_close(open_as(path, r->schema));
	assert_int_equal(db_open(&db, path, &next, SQL_READONLY, &e), -1);
	assert_int_equal(e.code, ERR_VERSION);
	assert_non_null(strstr(e.text, "opened for writing"));
	assert_int_equal(db_peek_version(path), r->schema->version);
	expect_rows(rows, a);
}

static void a_read_only_open_does_not_migrate(void **state)
{
	(void)state;
	for_each_release(stays_as_it_is);
}

#define EACH(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		EACH(a_released_file_reaches_this_version),
		EACH(a_file_reaches_the_next_version_and_reports_it),
		EACH(a_file_of_the_next_version_is_rejected_untouched),
		EACH(an_interrupted_migration_changes_nothing),
		EACH(a_read_only_open_does_not_migrate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
