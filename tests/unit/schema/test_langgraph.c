#include "tests/support/agent.h"
#include "tests/support/temp.h"

#include "schema/langgraph/langgraph.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct temp dir;
static struct agent_file file;
static struct arena mem;

static int set_up_langgraph(void **state)
{
	(void)state;
	temp_make(&dir);
	test_agent_open(&file, temp_join(&dir, "agent.sqlite"));
	return 0;
}

static int tear_down_langgraph(void **state)
{
	(void)state;
	agent_file_close(&file);
	arena_fini(&mem);
	mem = (struct arena){0};
	temp_remove(&dir);
	return 0;
}

/* Two threads; the first has ten checkpoints with two writes each. */
static void fill_threads(void)
{
	for (int i = 0; i < langgraph_schema.version; i++)
		test_sql(&file, "%s", langgraph_schema.migrations[i].text);
	for (int i = 0; i < 10; i++)
		test_sql(
			&file,
			"INSERT INTO checkpoints VALUES ('t1','','%02d','abc',"
			"NULL);"
			"INSERT INTO writes VALUES ('t1','','%02d','k',0,'x');"
			"INSERT INTO writes VALUES ('t1','','%02d','k',1,NULL)",
			i, i, i);
	test_sql(&file, "INSERT INTO checkpoints VALUES ('t1','sub','00','abc',"
			"NULL);"
			"INSERT INTO checkpoints VALUES ('t2','','00','de',"
			"NULL)");
}

static void a_file_without_the_tables_counts_nothing(void **state)
{
	struct langgraph_thread_row *rows;
	struct langgraph_stats s;
	struct err e;

	(void)state;
	assert_int_equal(langgraph_stats(file.db, &s, &e), 0);
	assert_int_equal(s.checkpoints + s.writes + s.threads + s.bytes, 0);
	assert_int_equal(langgraph_threads(file.db, NULL, 10, &rows, &mem, &e),
			 0);
	assert_int_equal(langgraph_prune(file.db, "t1", 0, &e), 0);
}

static void checkpoints_are_counted_by_thread(void **state)
{
	struct langgraph_thread_row *rows;
	struct langgraph_stats s;
	struct err e = {0};

	(void)state;
	fill_threads();
	if (langgraph_stats(file.db, &s, &e))
		fail_msg("%s", e.text);
	assert_int_equal(s.threads, 2);
	assert_int_equal(s.checkpoints, 12);
	assert_int_equal(s.writes, 20);
	assert_int_equal(s.bytes, 11 * 3 + 2 + 10);
	assert_int_equal(langgraph_threads(file.db, NULL, 10, &rows, &mem, &e),
			 2);
	assert_string_equal(rows[0].thread, "t1");
	assert_int_equal(rows[0].checkpoints, 11);
	assert_int_equal(rows[0].writes, 20);
	assert_int_equal(langgraph_threads(file.db, "t1", 10, &rows, &mem, &e),
			 1);
	assert_string_equal(rows[0].thread, "t2");
}

static void a_prune_keeps_the_newest_and_their_writes(void **state)
{
	struct err e;

	(void)state;
	fill_threads();
	assert_int_equal(langgraph_prune(file.db, "t1", 3, &e), 7);
	assert_int_equal(
		test_number(&file, "SELECT min(checkpoint_id) FROM writes"), 7);
	assert_int_equal(test_number(&file, "SELECT count(*) FROM writes"), 6);
	assert_int_equal(langgraph_prune(file.db, "t1", 0, &e), 4);
	assert_int_equal(test_number(&file, "SELECT count(*) FROM writes"), 0);
	assert_int_equal(test_number(&file, "SELECT count(*) FROM checkpoints"),
			 1);
	assert_int_equal(langgraph_prune(file.db, "t2", -1, &e), -1);
}

#define TEST(f)                                              \
	cmocka_unit_test_setup_teardown(f, set_up_langgraph, \
					tear_down_langgraph)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_file_without_the_tables_counts_nothing),
		TEST(checkpoints_are_counted_by_thread),
		TEST(a_prune_keeps_the_newest_and_their_writes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
