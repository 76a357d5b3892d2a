#include "tests/support/temp.h"

#include "lib/json/json.h"
#include "lib/os/file.h"
#include "schema/control/control.h"
#include "schema/control/registry.h"
#include "schema/control/stats.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static struct temp dir;
static struct home home;
static struct sql *control;
static struct arena arena;
static struct err e;
static struct agent_database_row row;

static int set_up_registry(void **state)
{
	(void)state;
	temp_make(&dir);
	snprintf(home.root, sizeof home.root, "%s/home", dir.path);
	e = (struct err){0};
	if (control_open(&control, &home, SQL_CREATE, &e))
		fail_msg("%s", e.text);
	return 0;
}

static int tear_down_registry(void **state)
{
	(void)state;
	sql_close(control);
	arena_fini(&arena);
	temp_remove(&dir);
	return 0;
}

static void make_agent(const char *agent)
{
	if (registry_make(control, &home, agent, &row, &arena, &e))
		fail_msg("%s", e.text);
}

static void the_first_use_makes_and_registers_a_private_file(void **state)
{
	struct stat st;

	(void)state;
	assert_int_equal(registry_find(control, "a", &row, &arena, &e), 0);
	make_agent("a");
	assert_int_equal(stat(row.path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(row.schema_version, agent_schema.version);
	assert_int_equal(registry_find(control, "a", &row, &arena, &e), 1);
	assert_true(row.bytes > 0 && row.epoch == 1);
	make_agent("a"); /* again: the same */
	assert_int_equal(
		registry_make(control, &home, "../a", &row, &arena, &e), -1);
}

static void a_file_without_its_row_is_found_again(void **state)
{
	(void)state;
	make_agent("a");
	assert_int_equal(registry_forget(control, "a", &e), 0);
	assert_int_equal(registry_find(control, "a", &row, &arena, &e), 0);
	make_agent("a");
	assert_int_equal(registry_find(control, "a", &row, &arena, &e), 1);
}

static void a_file_that_was_moved_is_named_and_can_be_told(void **state)
{
	const char *elsewhere = temp_join(&dir, "elsewhere.sqlite");
	struct agent_file file;

	(void)state;
	make_agent("a");
	assert_int_equal(rename(row.path, elsewhere), 0);
	assert_int_equal(registry_open(&row, 0, &file, &e), -1);
	assert_int_equal(e.code, ERR_NOTFOUND);
	assert_non_null(strstr(e.text, row.path));
	assert_int_equal(access(row.path, F_OK), -1);
	assert_int_equal(registry_move(control, "a", elsewhere, &e), 0);
	assert_int_equal(registry_find(control, "a", &row, &arena, &e), 1);
	assert_string_equal(row.path, elsewhere);
	assert_int_equal(registry_open(&row, 0, &file, &e), 0);
	agent_file_close(&file);
}

/* skepd calls it inside of the transaction that all requests of a turn share. */
static void a_refused_move_does_not_undo_the_transaction(void **state)
{
	const char *wrong[] = {"/", "/dev/null", "/etc/passwd", "/nowhere/x"};

	(void)state;
	make_agent("a");
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		assert_int_equal(sql_enter(control, &e), 0);
		assert_int_equal(registry_move(control, "a", wrong[i], &e), -1);
		assert_int_equal(sql_leave(control, 0, &e), 0);
	}
}

static void the_file_of_another_agent_is_refused(void **state)
{
	struct agent_database_row b;
	struct agent_file file;

	(void)state;
	make_agent("b");
	b = row;
	make_agent("a");
	assert_int_equal(registry_move(control, "a", b.path, &e), -1);
	assert_int_equal(e.code, ERR_CONFLICT);
	assert_int_equal(registry_move(control, "a", "/nowhere/x", &e), -1);
	assert_int_equal(registry_move(control, "a", "/", &e), -1);
	assert_int_equal(e.code, ERR_INVALID);
	b.agent = "a";
	assert_int_equal(registry_open(&b, 0, &file, &e), -1);
	assert_int_equal(e.code, ERR_CONFLICT);
	assert_int_equal(registry_find(control, "a", &row, &arena, &e), 1);
}

static void an_owner_that_was_given_up_is_fenced_out(void **state)
{
	struct agent_file file;

	(void)state;
	make_agent("a");
	assert_int_equal(registry_open(&row, 0, &file, &e), 0);
	assert_int_equal(agent_file_set_epoch(&file, 2, &e), 0);
	agent_file_close(&file);
	assert_int_equal(registry_open(&row, 0, &file, &e), -1);
	assert_int_equal(e.code, ERR_STALE);
	row.epoch = 2;
	assert_int_equal(registry_open(&row, 0, &file, &e), 0);
	agent_file_close(&file);
}

static void sizes_in_the_registry_follow_the_file(void **state)
{
	struct agent_file file;
	int64_t was;

	(void)state;
	make_agent("a");
	was = row.wal_bytes;
	assert_int_equal(registry_open(&row, 0, &file, &e), 0);
	for (int i = 0; i < 50; i++)
		assert_int_not_equal(sql_exec(file.db, Q_META_PUT_TEXT,
					      &(struct meta_put_text_in){
						      .key = "k", .value = "v"},
					      &e),
				     -1);
	assert_int_equal(registry_seen(control, &row, &e), 0);
	assert_true(row.wal_bytes > was);
	agent_file_close(&file);
}

static void stats_show_the_five_pragmas_and_the_rows(void **state)
{
	struct agent_file file;
	struct stats s;
	cJSON *rows;

	(void)state;
	make_agent("a");
	assert_int_equal(registry_open(&row, 0, &file, &e), 0);
	assert_int_equal(stats_read(file.db, "agent", &s, &arena, &e), 0);
	assert_string_equal(s.journal_mode, "wal");
	assert_string_equal(s.synchronous, "full");
	assert_int_equal(s.busy_timeout, 30000);
	assert_true(s.foreign_keys && !s.secure_delete);
	assert_int_equal(s.schema_version, agent_schema.version);
	rows = cJSON_Parse(s.rows);
	assert_int_equal(json_i64(rows, "meta", -1), 2);
	assert_int_equal(json_i64(rows, "session", -1), 0);
	assert_string_equal(s.langgraph, "{\"threads\":0,\"checkpoints\":0,"
					 "\"writes\":0,\"bytes\":0}");
	cJSON_Delete(rows);
	agent_file_close(&file);
	assert_int_equal(stats_read(control, "control", &s, &arena, &e), 0);
	assert_string_equal(s.synchronous, "full");
	assert_null(s.langgraph);
}

int main(void)
{
#define T(name)                                                \
	cmocka_unit_test_setup_teardown(name, set_up_registry, \
					tear_down_registry)
	const struct CMUnitTest tests[] = {
		T(the_first_use_makes_and_registers_a_private_file),
		T(a_file_without_its_row_is_found_again),
		T(a_file_that_was_moved_is_named_and_can_be_told),
		T(a_refused_move_does_not_undo_the_transaction),
		T(the_file_of_another_agent_is_refused),
		T(an_owner_that_was_given_up_is_fenced_out),
		T(sizes_in_the_registry_follow_the_file),
		T(stats_show_the_five_pragmas_and_the_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
