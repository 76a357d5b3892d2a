#include "tests/support/temp.h"

#include "lib/db/internal.h"
#include "lib/db/rank.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* skep_rank against FTS5's own bm25, which counts all rows. */

static struct temp dir;
static struct sql *db;

static int set_up_rank(void **state)
{
	struct err e = {0};

	(void)state;
	temp_make(&dir);
	if (sql_open(&db, temp_join(&dir, "rank.sqlite"), NULL, SQL_CREATE,
		     &e) ||
	    sql_script(db, "CREATE VIRTUAL TABLE t USING fts5 (text)", &e) ||
	    sql_rank(db, &e) || sql_rank(db, &e))
		fail_msg("%s", e.text);
	return 0;
}

static int tear_down_rank(void **state)
{
	(void)state;
	sql_close(db);
	temp_remove(&dir);
	return 0;
}

/* Row i of session s has "w2" if i is divisible by 2, and so on, some of them
 * several times, and a tail of other words. */
static void fill_sessions(int sessions, int rows)
{
	char text[2048];
	struct err e = {0};

	snprintf(
		text, sizeof text,
		"INSERT INTO t (rowid, text) WITH RECURSIVE n (i) AS (SELECT 1 "
		"UNION ALL SELECT i + 1 FROM n WHERE i < %d), s (s) AS (SELECT "
		"1 UNION ALL SELECT s + 1 FROM s WHERE s < %d) SELECT s << 32 "
		"| i, 'all' || iif(i %% 2, '', ' w2 and w2') || iif(i %% 3, "
		"'', ' w3') || iif(i %% 10, '', ' w10 w10 w2') || iif(i %% "
		"500, '', ' rare') || substr(' a b c d e f g h i j k', 1, i "
		"* 7919 %% 20) FROM s, n ORDER BY s, i",
		rows, sessions);
	if (sql_script(db, text, &e))
		fail_msg("%s", e.text);
}

static sqlite3_stmt *prepare_ranked(const char *rank, const char *match)
{
	char text[512];
	sqlite3_stmt *st;

	snprintf(text, sizeof text,
		 "SELECT rowid, rank FROM t WHERE t MATCH '%s' AND rank MATCH "
		 "'%s' AND rowid >= (SELECT max(rowid) - 200 FROM t) ORDER BY "
		 "rowid",
		 match, rank);
	assert_int_equal(sqlite3_prepare_v2(db->conn, text, -1, &st, NULL),
			 SQLITE_OK);
	return st;
}

/* Rows compared; scores differ by at most this part. */
static int compare_scores(const char *match, double most)
{
	sqlite3_stmt *a = prepare_ranked("skep_rank()", match);
	sqlite3_stmt *b = prepare_ranked("bm25()", match);
	int n = 0;

	for (;; n++) {
		int got = sqlite3_step(a);
		double x, y;

		assert_int_equal(got, sqlite3_step(b));
		if (got != SQLITE_ROW)
			break;
		assert_true(sqlite3_column_int64(a, 0) ==
			    sqlite3_column_int64(b, 0));
		x = sqlite3_column_double(a, 1);
		y = sqlite3_column_double(b, 1);
		if (fabs(x - y) > most * fabs(y))
			fail_msg("%s: %.9f instead of %.9f", match, x, y);
	}
	sqlite3_finalize(a);
	sqlite3_finalize(b);
	return n;
}

static const char *const queries[] = {
	"all",      "w2",     "w3 AND w2",     "w10 OR rare", "\"and w2\"",
	"w1*",      "rare",   "w2 NOT w10",    "all w2 w3",   "NEAR(w10 w2, 9)",
	"w3 OR w2", "a OR b", "all AND w1* e",
};

static void few_rows_have_the_score_of_bm25(void **state)
{
	(void)state;
	fill_sessions(3, 1000);
	for (size_t i = 0; i < sizeof queries / sizeof queries[0]; i++)
		assert_true(compare_scores(queries[i], 1e-9) > 0);
}

static void many_rows_have_nearly_the_score_of_bm25(void **state)
{
	(void)state;
	fill_sessions(3, 10000);
	assert_true(compare_scores("w3", 0.02) > 0);
	assert_true(compare_scores("w3 w10", 0.02) > 0);
	assert_true(compare_scores("w10 rare", 0.02) > 0);
	assert_true(compare_scores("w3 OR w10 OR rare", 0.02) > 0);
}

static int64_t pages_read(const char *rank)
{
	sqlite3_stmt *st = prepare_ranked(rank, "all w2 rare");
	int64_t pages = 0;
	int now, peak;

	sqlite3_db_status(db->conn, SQLITE_DBSTATUS_CACHE_HIT, &now, &peak, 1);
	sqlite3_db_status(db->conn, SQLITE_DBSTATUS_CACHE_MISS, &now, &peak, 1);
	while (sqlite3_step(st) == SQLITE_ROW)
		;
	sqlite3_db_status(db->conn, SQLITE_DBSTATUS_CACHE_HIT, &now, &peak, 0);
	pages += now;
	sqlite3_db_status(db->conn, SQLITE_DBSTATUS_CACHE_MISS, &now, &peak, 0);
	sqlite3_finalize(st);
	return pages + now;
}

static void common_words_are_not_counted_to_the_end(void **state)
{
	int64_t ours, theirs;

	(void)state;
	fill_sessions(1, 40000);
	ours = pages_read("skep_rank()");
	theirs = pages_read("bm25()");
	if (ours * 2 > theirs)
		fail_msg("%lld pages, bm25 reads %lld", (long long)ours,
			 (long long)theirs);
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up_rank, tear_down_rank)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(few_rows_have_the_score_of_bm25),
		T(many_rows_have_nearly_the_score_of_bm25),
		T(common_words_are_not_counted_to_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
