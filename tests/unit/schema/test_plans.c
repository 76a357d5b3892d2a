/* No query scans a table that grows with the history, except those listed here,
 * each with its reason. SQLite's own plan is the witness. */
#include "tests/support/temp.h"

#include "lib/db/migrate.h"
#include "schema/agent_queries.h"
#include "schema/control_queries.h"

#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct temp dir;

/* Tables that have a row for each of something that happened. */
static const char *const growing[] = {
	/* control plane */
	"run", "run_input", "run_transition", "run_command", "run_tag",
	"invocation", "invocation_session", "approval", "host_event",
	"delivery", "delivery_attempt", "inbound", "message", "message_to",
	"conversation", "media", "media_use", "audit", "agent_version",
	"import_item",
	/* agent files */
	"session", "event", "event_parent", "event_extra", "usage", "part",
	"rewind", "compaction", "outbox", "artifact", "artifact_content",
	"artifact_chunk", "diagnostic", "embedding", "search_dirty",
	"search_watermark"};

/* Partial indexes that hold only what is not over. */
static const char *const small[] = {
	"run_ready",       "run_due",
	"run_expiry",      "run_queue",
	"run_active",      "run_open_child",
	"run_queued",      "run_blocked",
	"approval_expiry", "approval_open",
	"delivery_ready",  "delivery_order",
	"delivery_old",    "delivery_sending",
	"delivery_stuck",  "delivery_open",
	"run_running",     "outbox_waiting",
	"part_open",       "artifact_content_loose"};

/* Queries that may scan. None of them is run by the supervisor's loop, or it is
 * run once at its start. */
static const struct {
	const char *query;
	const char *why;
} allowed[] = {
#define SCAN(query, why) {#query, why},
#include "tests/unit/schema/plans.def"
#undef SCAN
};

static bool is_in(const char *const *list, size_t n, const char *word,
		  size_t length)
{
	for (size_t i = 0; i < n; i++)
		if (strlen(list[i]) == length &&
		    !strncmp(list[i], word, length))
			return true;
	return false;
}

#define IS_IN(list, word, length) \
	is_in(list, sizeof(list) / sizeof *(list), word, length)

static const char *reason_of(const char *query)
{
	for (size_t i = 0; i < sizeof allowed / sizeof allowed[0]; i++)
		if (!strcmp(allowed[i].query, query))
			return allowed[i].why;
	return NULL;
}

/* The table behind a name or alias of the plan: FROM table [AS] alias. */
static void table_of(const char *sql, const char *alias, size_t n, char *out,
		     size_t size)
{
	static const char *const before[] = {"FROM ", "JOIN "};

	snprintf(out, size, "%.*s", (int)n, alias);
	for (size_t k = 0; k < 2; k++)
		for (const char *p = sql; (p = strstr(p, before[k]));) {
			size_t t, a;

			p += strlen(before[k]);
			t = strcspn(p, " \n,();");
			a = strspn(p + t, " \n");
			if (p[t] != ' ' || strncmp(p + t + a, alias, n) != 0 ||
			    !strchr(" \n", p[t + a + n]))
				continue;
			snprintf(out, size, "%.*s", (int)t, p);
			return;
		}
}

/* Whether a line of a plan is a scan that grows. */
static bool grows(const char *sql, const char *detail)
{
	const char *name, *index;
	char table[64];
	size_t n;

	if (strncmp(detail, "SCAN ", 5) != 0)
		return false;
	name = detail + 5;
	n = strcspn(name, " ");
	table_of(sql, name, n, table, sizeof table);
	if (!IS_IN(growing, table, strlen(table)))
		return false;
	index = strstr(detail, "INDEX ");
	return !index || !IS_IN(small, index + 6, strcspn(index + 6, " "));
}

static int check_query(sqlite3 *db, const struct sql_query *q, bool *used)
{
	char *sql = sqlite3_mprintf("EXPLAIN QUERY PLAN %s", q->text);
	const char *why = reason_of(q->name);
	sqlite3_stmt *st = NULL;
	int bad = 0;

	assert_non_null(sql);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK);
	while (sqlite3_step(st) == SQLITE_ROW) {
		const char *detail = (const char *)sqlite3_column_text(st, 3);

		if (!grows(q->text, detail))
			continue;
		*used = true;
		if (!why)
			printf("%s: %s\n", q->name, detail);
		bad += !why;
	}
	sqlite3_finalize(st);
	sqlite3_free(sql);
	return bad;
}

static int check_all(const char *name, const struct db_schema *schema)
{
	struct sql *made = NULL;
	struct err e = {0};
	sqlite3 *db = NULL;
	int bad = 0;

	if (db_open(&made, temp_join(&dir, name), schema, SQL_CREATE, &e))
		fail_msg("%s", e.text);
	sql_close(made);
	assert_int_equal(sqlite3_open(temp_join(&dir, name), &db), SQLITE_OK);
	for (unsigned i = 0; i < schema->queries->count; i++) {
		const struct sql_query *q = &schema->queries->queries[i];
		bool used = false;

		bad += check_query(db, q, &used);
		if (reason_of(q->name) && !used) {
			printf("%s is allowed to scan and does not\n", q->name);
			bad++;
		}
	}
	sqlite3_close(db);
	return bad;
}

static void no_query_scans_the_control_planes_history(void **state)
{
	(void)state;
	assert_int_equal(check_all("control", &control_schema), 0);
}

static void no_query_scans_an_agent_files_history(void **state)
{
	(void)state;
	assert_int_equal(check_all("agent", &agent_schema), 0);
}

/* A deleted row looks for its children by each foreign key that points to it. */
static void every_foreign_key_of_a_growing_table_has_an_index(void **state)
{
	static const char text[] =
		"SELECT m.name || '.' || f.\"from\" FROM sqlite_master m"
		" JOIN pragma_foreign_key_list(m.name) f"
		" WHERE m.type = 'table' AND f.seq = 0 AND NOT EXISTS"
		"  (SELECT 1 FROM pragma_index_list(m.name) i"
		"    JOIN pragma_index_info(i.name) c ON c.seqno = 0"
		"   WHERE c.name = f.\"from\" AND (i.partial = 0 OR"
		"    (SELECT sql LIKE '% WHERE ' || f.\"from\" ||"
		"      ' IS NOT NULL' FROM sqlite_master"
		"      WHERE name = i.name)))"
		" AND NOT EXISTS (SELECT 1 FROM pragma_table_info(m.name) t"
		"   WHERE t.name = f.\"from\" AND t.pk = 1)";
	static const char *const files[] = {"control", "agent"};

	(void)state;
	for (int i = 0; i < 2; i++) {
		sqlite3 *db = NULL;
		sqlite3_stmt *st = NULL;
		int bad = 0;

		sqlite3_open(temp_join(&dir, files[i]), &db);
		assert_int_equal(sqlite3_prepare_v2(db, text, -1, &st, NULL),
				 SQLITE_OK);
		while (sqlite3_step(st) == SQLITE_ROW) {
			const char *column = (const char *)sqlite3_column_text(
				st, 0);
			size_t n = strcspn(column, ".");

			if (!IS_IN(growing, column, n))
				continue;
			if (!strcmp(column, "run.reason") ||
			    !strcmp(column, "run_transition.reason") ||
			    !strcmp(column, "import_item.run") ||
			    !strcmp(column, "embedding.model"))
				continue; /* their parents are never deleted */
			printf("%s has no index\n", column);
			bad++;
		}
		sqlite3_finalize(st);
		sqlite3_close(db);
		assert_int_equal(bad, 0);
	}
}

static int make_files(void **state)
{
	(void)state;
	temp_make(&dir);
	return 0;
}

static int remove_dir(void **state)
{
	(void)state;
	temp_remove(&dir);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_query_scans_the_control_planes_history),
		cmocka_unit_test(no_query_scans_an_agent_files_history),
		cmocka_unit_test(
			every_foreign_key_of_a_growing_table_has_an_index),
	};

	return cmocka_run_group_tests_name("plans", tests, make_files,
					   remove_dir);
}
