/* Files of every released version reach today's schema with all their rows. */
#include "lib/base/buf.h"
#include "lib/os/file.h"
#include "schema/agent_queries.h"
#include "schema/control_queries.h"
#include "tests/support/temp.h"

#include <dirent.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct temp dir;

/* A file as a program of that time left it. */
static void make_old(const char *fixture, const char *path)
{
	struct buf text = BUF_MAX(16u << 20);
	char from[4096];
	sqlite3 *db;
	struct err e;
	char *why = NULL;

	snprintf(from, sizeof from, "%s/%s", FIXTURES, fixture);
	if (file_read(from, &text, &e))
		fail_msg("%s", e.text);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	sqlite3_exec(db, "PRAGMA auto_vacuum=INCREMENTAL", NULL, NULL, NULL);
	if (sqlite3_exec(db, text.p, NULL, NULL, &why))
		fail_msg("%s: %s", fixture, why);
	sqlite3_close(db);
	buf_fini(&text);
}

static struct sql *open_as(const char *path, const struct db_schema *schema)
{
	struct sql *db = NULL;
	struct err e;

	if (db_open(&db, path, schema, SQL_CREATE, &e))
		fail_msg("%s", e.text);
	return db;
}

static const char *text_of(struct sql *db, const char *query, struct arena *a)
{
	const char *out = NULL;
	struct err e;

	if (sql_script_text(db, query, a, &out, &e))
		fail_msg("%s", e.text);
	return out;
}

/* The rows of every table that has any, as "table=count". */
static void count_rows(struct sql *db, struct arena *a, struct buf *out)
{
	char tables[16384], *save = NULL;

	snprintf(tables, sizeof tables, "%s",
		 text_of(db,
			 "SELECT group_concat(name, ' ') FROM (SELECT name FROM"
			 " sqlite_schema WHERE type = 'table' AND sql NOT LIKE"
			 " 'CREATE VIRTUAL%' ORDER BY name)",
			 a));
	for (char *t = strtok_r(tables, " ", &save); t;
	     t = strtok_r(NULL, " ", &save)) {
		const char *n = text_of(
			db, arena_printf(a, "SELECT count(*) FROM \"%s\"", t),
			a);

		if (strcmp(n, "0") != 0)
			buf_addf(out, "%s=%s\n", t, n);
	}
}

static void upgrade(const char *fixture, const struct db_schema *schema)
{
	static const char shape[] =
		"SELECT group_concat(type || ' ' || name || ' ' ||"
		" coalesce(sql, ''), char(10)) FROM (SELECT * FROM"
		" sqlite_schema ORDER BY type, name)";
	const char *old_path = temp_join(&dir, fixture);
	struct buf before = BUF_MAX(65536), after = BUF_MAX(65536);
	struct db_schema as_it_was = *schema;
	struct arena a = {0};
	struct sql *old, *fresh;
	char new_path[4096];

	snprintf(new_path, sizeof new_path, "%s.new", old_path);
	make_old(fixture, old_path);
	as_it_was.version = db_peek_version(old_path);
	as_it_was.ncolumns = 0;
	old = open_as(old_path, &as_it_was);
	count_rows(old, &a, &before);
	sql_close(old);
	old = open_as(old_path, schema);
	fresh = open_as(new_path, schema);
	if (strcmp(text_of(old, shape, &a), text_of(fresh, shape, &a)) != 0)
		fail_msg("%s does not become what a new file is. Was a "
			 "migration changed that people have run? (One that is "
			 "in no release yet: run tests/fixtures/make.sh.)",
			 fixture);
	assert_string_equal(text_of(old, "PRAGMA integrity_check", &a), "ok");
	count_rows(old, &a, &after);
	for (char *line = before.p, *end; *line; line = end + 1) {
		end = strchr(line, '\n');
		*end = '\0';
		if (!strstr(after.p, line))
			fail_msg("%s: %s is not in\n%s", fixture, line,
				 after.p);
	}
	sql_close(old);
	sql_close(fresh);
	buf_fini(&before);
	buf_fini(&after);
	arena_fini(&a);
}

static int upgrade_all(const char *prefix, const struct db_schema *schema)
{
	DIR *d = opendir(FIXTURES);
	const struct dirent *entry;
	int n = 0;

	assert_non_null(d);
	while ((entry = readdir(d)))
		if (!strncmp(entry->d_name, prefix, strlen(prefix))) {
			upgrade(entry->d_name, schema);
			n++;
		}
	closedir(d);
	return n;
}

static void old_agent_files_become_new_ones(void **state)
{
	(void)state;
	assert_true(upgrade_all("agent-v", &agent_schema) > 0);
}

static void old_control_planes_become_new_ones(void **state)
{
	(void)state;
	assert_true(upgrade_all("control-v", &control_schema) > 0);
}

/* The table of deliveries was made anew: with its rows and their attempts. */
static void deliveries_survive_the_new_table(void **state)
{
	const char *path = temp_join(&dir, "deliveries");
	struct db_schema six = control_schema;
	struct arena a = {0};
	struct sql *db;
	struct err e;

	(void)state;
	make_old("control-v6.sql", path);
	six.version = 6;
	six.ncolumns = 0;
	db = open_as(path, &six);
	if (sql_script(db,
		       "INSERT INTO delivery (seq, id, channel, line, is_head,"
		       " state, body, due_at, created_at, attempts, detail)"
		       " VALUES (7, 'dlv_a', 'c', 'l', 1, 'pending',"
		       " '{\"text\":\"a\"}', 1, 2, 1, 'busy'),"
		       " (9, 'dlv_b', 'c', 'l', 0, 'pending', '{}', 3, 4, 0,"
		       " NULL);"
		       "INSERT INTO delivery_attempt (id, delivery, n, outcome,"
		       " ended_at) VALUES ('att_1', 7, 1, 'pending', 5)",
		       &e))
		fail_msg("%s", e.text);
	sql_close(db);
	db = open_as(path, &control_schema);
	assert_string_equal(
		text_of(db,
			"SELECT group_concat(seq || id || state || in_line ||"
			" is_head || is_held || due_at || body || "
			"coalesce(detail, '-'),"
			" ' ') FROM delivery",
			&a),
		"7dlv_apending1101{\"text\":\"a\"}busy "
		"9dlv_bpending1003{}-");
	assert_string_equal(text_of(db,
				    "SELECT id || delivery || outcome FROM"
				    " delivery_attempt",
				    &a),
			    "att_17pending");
	assert_string_equal(
		text_of(db, "SELECT count(*) FROM pragma_foreign_key_check",
			&a),
		"0");
	sql_close(db);
	arena_fini(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(old_agent_files_become_new_ones),
		cmocka_unit_test(old_control_planes_become_new_ones),
		cmocka_unit_test(deliveries_survive_the_new_table),
	};
	int bad;

	temp_make(&dir);
	bad = cmocka_run_group_tests(tests, NULL, NULL);
	temp_remove(&dir);
	return bad;
}
